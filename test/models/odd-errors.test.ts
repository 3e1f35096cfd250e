import { describe, expect, it } from 'vitest';
import { anthropicClient } from '../../src/models/anthropic.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { responsesClient } from '../../src/models/responses.ts';
import { asked, failing, type Make } from './one-answer.ts';

describe.each<[string, Make]>([
  ['chat completions', openaiClient],
  ['the Responses API', responsesClient],
  ['the messages wire', anthropicClient],
])('an error of %s', (_, make) => {
  const said = "This model's maximum context length is 10 tokens";
  it.each([
    ['a message at the top', { object: 'error', message: said, code: 400 }],
    ['a detail', { detail: said }],
    ['a list', [{ error: { code: 400, message: said } }]],
    ['a text', { error: said }],
    ['the usual', { error: { message: said, type: 'invalid_request_error' } }],
  ])('is understood in %s', async (_shape, body) => {
    expect(await failing(make, 400, JSON.stringify(body))).toMatchObject({
      code: 'context_length',
      message: expect.stringContaining(said),
    });
  });

  it('is not repeated at any length', async () => {
    const page = (await failing(make, 502, `<html>${'x'.repeat(200_000)}</html>`, 'text/html')) as Error;
    expect(page).toMatchObject({ details: { status: 502, retryable: true } });
    expect(page.message.length).toBeLessThan(2_200);
  });

  it('is not waited for when it never ends', async () => {
    const answer = asked(make, (response) => void response.writeHead(502).write('x'.repeat(70_000)));
    await expect(answer).rejects.toMatchObject({ details: { status: 502 } });
  });

  it('in a list that came with status 200 is one, too', async () => {
    const body = JSON.stringify([{ error: { code: 503, message: 'The model is overloaded.' } }]);
    expect(await failing(make, 200, body)).toMatchObject({ code: 'provider_overloaded' });
  });
});

describe('a 429', () => {
  const limit = (message: string) =>
    failing(openaiClient, 429, JSON.stringify({ error: { message, type: 'requests' } }));

  it('that recommends the page about billing passes', async () => {
    const text = 'Rate limit reached. Visit https://platform.openai.com/account/billing to add a payment method.';
    expect(await limit(text)).toMatchObject({ code: 'provider_overloaded', details: { retryable: true } });
  });

  it('for a request that is larger than a minute allows asks for a shorter one', async () => {
    const text = 'Request too large for m on tokens per min (TPM): Limit 30000, Requested 61337.';
    expect(await limit(text)).toMatchObject({ code: 'context_length', details: { retryable: false } });
  });
});
