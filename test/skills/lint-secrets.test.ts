import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { lineFinder } from '../../src/skills/lint/problem.ts';
import { findSecrets, secretFindings } from '../../src/skills/lint/secrets.ts';
import { processorTime } from '../helpers/processor-time.ts';

/** Made when the test runs, so that no file here holds what looks like a secret. */
const letters = (length: number): string => {
  const signs = 'ABCDEFGHJKLMNPQRSTUVWYZabcdefghijkmnopqrstuvwyz23456789';
  return [...'aB3dE7gH2k', ...randomBytes(length)]
    .map((each) => (typeof each === 'string' ? each : signs[each % signs.length]))
    .join('')
    .slice(0, length);
};
const token = (payload: object): string => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(payload)}.${letters(43)}`;
};
const pem = (kind: string, line: string): string => `-----BEGIN ${kind}-----\n${line}\n-----END ${kind}-----`;

const REAL: [string, string][] = [
  ['an Anthropic API key', `sk-ant-api03-${letters(90)}`],
  ['an API key', `sk-${letters(48)}`],
  ['an API key', `sk-proj-${letters(60)}`],
  ['an AWS access key id', `AKIA${letters(32).toUpperCase().slice(0, 16)}`],
  ['a GitHub token', `ghp_${letters(36)}`],
  ['a GitHub token', `github_pat_${letters(22)}_${letters(59)}`],
  ['a GitLab token', `glpat-${letters(20)}`],
  ['a Slack token', `xoxb-2837465920-${letters(24)}`],
  ['a Slack webhook', `https://hooks.slack.com/services/T02KLMNPQ/B03GHIJKL/${letters(24)}`],
  ['a Google API key', `AIza${letters(35)}`],
  ['a Stripe key', `sk_live_${letters(24)}`],
  ['an npm token', `npm_${letters(36)}`],
  ['a signed token (JWT)', token({ sub: 'u_82736', exp: 1767225600 })],
  ['a private key', pem('RSA PRIVATE KEY', letters(64))],
  ['a private key', pem('OPENSSH PRIVATE KEY', letters(70))],
];

describe('G07: secrets', () => {
  it.each(REAL)('finds %s, and never shows it', (what, secret) => {
    const text = `Set it up:\n\n    export KEY="${secret}"\n`;
    const [finding, ...more] = secretFindings(text, lineFinder(text));
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ severity: 'error', code: 'secret', line: 3 });
    expect(finding?.message).toContain(what);
    expect(finding?.message).not.toContain(secret.slice(-12));
    const [found] = findSecrets(secret);
    expect(found!.masked.length).toBeLessThan(60);
  });

  it.each([
    'sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'sk-your-api-key-goes-here-1234567890',
    'sk-1234567890abcdef1234567890abcdef',
    'sk-proj-EXAMPLE0EXAMPLE1EXAMPLE2EXAMPLE3',
    'sk-TEST8f3k2j1h4g5d6s7a8q9w0e1r2t3y4',
    'sk-...',
    'sk-learn-pipeline-tutorial-part-2-models',
    'task-management-with-subtasks-v2-and-more1',
    'AKIAIOSFODNN7EXAMPLE',
    'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'ghp_0000000000000000000000000000000000000',
    'xoxb-your-token',
    'xoxb-000000000000-000000000000-XXXXXXXXXXXXXXXXXXXXXXXX',
    'https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX',
    'AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX',
    'YOUR_API_KEY',
    'OPENAI_API_KEY=$OPENAI_API_KEY',
    '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----',
    '-----BEGIN RSA PRIVATE KEY-----\nYOUR_KEY_HERE\n-----END RSA PRIVATE KEY-----',
    '`-----BEGIN OPENSSH PRIVATE KEY-----` at the top of the file',
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c',
    'eyJhbGciOi...',
  ])('lets %s pass', (text) => {
    expect(findSecrets(text)).toEqual([]);
  });

  it('counts the same one once', () => {
    const text = `${REAL[1]![1]}\n`.repeat(3);
    expect(secretFindings(text, lineFinder(text)).map(({ line, message }) => [line, message])).toEqual([
      [1, expect.stringContaining('3 times')],
    ]);
  });

  it('takes time in proportion to the length, whatever the text', () => {
    for (const unit of [
      'sk-',
      'eyJaaaaaaaaaa.',
      '-----BEGIN PRIVATE KEY-----\n',
      'xoxb-1',
      'ghp_a',
      'A: b\n',
      'AKIA',
    ]) {
      const text = `-----BEGIN PRIVATE KEY-----\n${unit.repeat(100_000)}`;
      const start = processorTime();
      findSecrets(text);
      expect(processorTime() - start, unit).toBeLessThan(2_000);
    }
  });
});
