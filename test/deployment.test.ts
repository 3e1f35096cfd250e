import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COMMANDS } from '../src/cli/commands.ts';
import { parseWords } from '../src/cli/parse-args.ts';
import { specOf } from '../src/config/keys.ts';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8');

interface Service {
  image: string;
  build?: string;
  pull_policy?: string;
  command?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  volumes?: (string | { source: string; target: string })[];
}

interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as Compose;
const ours = Object.entries(compose.services).filter(([, { image }]) => image === 'reasonix');

describe('docker-compose.yml', () => {
  test('has both services, two workers, and nothing that is not there', () => {
    expect(Object.keys(compose.services)).toEqual(['postgres', 'redis', 'worker-1', 'worker-2', 'web', 'cli']);
    for (const [name, service] of Object.entries(compose.services)) {
      for (const other of Object.keys(service.depends_on ?? {})) {
        expect(compose.services[other]?.healthcheck, `${name} waits for ${other}`).toBeDefined();
      }
      const named = (service.volumes ?? [])
        .flatMap((volume) => (typeof volume === 'string' ? [volume.split(':')[0]!] : []))
        .filter((from) => !from.startsWith('$'));
      for (const volume of named) expect(compose.volumes).toHaveProperty(volume);
    }
    // The image of Postgres answers on its socket before it is open to others.
    expect(compose.services.postgres?.healthcheck?.test).toContain('-h');
    expect(compose.services.redis?.command?.join(' ')).toContain('--maxmemory-policy noeviction --appendonly yes');
  });

  test('makes its image once, for all that run it', () => {
    expect(ours.map(([name]) => name)).toEqual(['worker-1', 'worker-2', 'web', 'cli']);
    expect(ours.filter(([, { build }]) => build !== undefined)).toHaveLength(1);
    for (const [name, { pull_policy: policy }] of ours) expect(policy, name).toBe('never');
  });

  test('says at its top what belongs into .env, and gives each of ours its configuration', () => {
    const text = read('docker-compose.yml');
    const top = text.slice(0, text.indexOf('\nname:'));
    const asked = [...text.matchAll(/\$\{(\w+):[?]/g), ...text.matchAll(/\$\{(RUN_\w+)/g)].map(([, name]) => name!);
    expect(asked.length).toBeGreaterThan(2);
    for (const name of asked) expect(top).toContain(`#   ${name}=`);
    const [, home] = /^ENV REASONIX_HOME=(.+)$/m.exec(read('Dockerfile')) ?? [];
    for (const [name, { volumes = [] }] of ours) {
      const target = expect.objectContaining({ source: './reasonix.toml', target: `${home}/config.toml` });
      expect(volumes, name).toContainEqual(target);
    }
  });

  test('every command is one of ours, with flags that it takes', async () => {
    for (const [name, { command }] of ours) {
      if (!command) continue;
      const [verb, ...words] = command;
      const found = COMMANDS.find((each) => each.name === verb);
      expect(found, name).toBeDefined();
      const { flags, args } = await parseWords(found!, words);
      expect(flags).toMatchObject(verb === 'worker' ? { name, 'health-port': 9464 } : { host: '0.0.0.0', port: 4000 });
      expect(args).toEqual([]);
    }
  });

  test('every variable of ours sets a key that exists', () => {
    for (const [name, { environment = {} }] of ours) {
      const variables = Object.keys(environment).filter((variable) => variable.startsWith('REASONIX_'));
      expect(variables, name).toContain('REASONIX_ENGINE__URL');
      for (const variable of variables.filter((each) => each !== 'REASONIX_SERVE__TOKEN')) {
        const segments = variable.slice('REASONIX_'.length).toLowerCase().split('__');
        expect(specOf(segments), variable).toBeDefined();
      }
    }
  });
});

describe('Dockerfile', () => {
  const text = read('Dockerfile');

  test('copies what exists and is let through', () => {
    const allowed = read('.dockerignore').split('\n');
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) => paths!.split(' '));
    expect(copied.length).toBeGreaterThan(5);
    for (const path of copied) expect(allowed, path).toContain(`!${path.replace('./', '')}`);
  });

  test('installs the drivers that the package asks for, and a node that it runs on', () => {
    const { peerDependencies } = JSON.parse(read('package.json')) as { peerDependencies: Record<string, string> };
    // As dependencies, before the others go: npm takes what is a devDependency for one still, and installs nothing.
    const [install, rest] = text.split('npm prune --omit=dev');
    expect(install).toContain('npm install --save-prod');
    for (const name of Object.keys(peerDependencies)) {
      expect(install).toContain(` ${name}@^`);
      expect(rest, 'is checked').toContain(`'${name}'`);
    }
    expect(text).toMatch(/^FROM node:20-slim$/m);
  });
});

describe('docs/operations.md', () => {
  const text = read('docs/operations.md');

  test('names keys and flags that exist', () => {
    const keys = [...text.matchAll(/`((?:engine|store|permissions|sandbox)\.[a-z_]+)`/g)].map(([, key]) => key!);
    expect(keys.length).toBeGreaterThan(10);
    for (const key of keys) expect(specOf(key.split('.')), key).toBeDefined();
    const worker = COMMANDS.find(({ name }) => name === 'worker');
    const table = text.slice(text.indexOf('## A worker'), text.indexOf('## Sizing'));
    const flags = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell]) => cell!.match(/--[a-z-]+/g) ?? []);
    expect(flags.length).toBeGreaterThan(7);
    for (const flag of flags) expect(Object.keys(worker?.flags ?? {}), flag).toContain(flag.slice(2));
  });

  test('names services that Compose has, and commands of ours', () => {
    const lines = text.match(/^docker compose .+$/gm) ?? [];
    const named = lines.flatMap((line) => {
      const [, one, several = ''] = /^docker compose (?:(?:exec(?: -T)?|run --rm) (\S+)|stop (.+))/.exec(line) ?? [];
      return one ?? several.split(' ').filter((name) => name !== '');
    });
    expect(new Set(named)).toEqual(new Set(['cli', 'postgres', 'redis', 'worker-1', 'worker-2', 'web']));
    for (const name of named) expect(compose.services).toHaveProperty(name);
    const verbs = lines.flatMap((line) => / cli (\S+)/.exec(line)?.[1] ?? []);
    expect(COMMANDS.map(({ name }) => name)).toEqual(expect.arrayContaining(verbs));
  });

  test('names metrics that a worker has, and its alert rules are YAML', () => {
    const source = read('src/cli/worker/metrics.ts');
    const metrics = [...text.matchAll(/\b(reasonix_[a-z_]+)/g)].map(([, name]) => name!);
    for (const name of metrics) expect(source, name).toContain(`'${name}'`);
    const [, rules] = /```yaml\n(.*?)```/s.exec(text) ?? [];
    const { groups } = parse(rules ?? '') as { groups: { rules: { alert: string; expr: string }[] }[] };
    for (const { alert, expr } of groups[0]!.rules)
      expect([alert, expr]).toEqual([expect.any(String), expect.any(String)]);
  });
});
