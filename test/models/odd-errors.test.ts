import { describe, expect, it } from 'vitest';
import { anthropicClient } from '../../src/models/anthropic.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { responsesClient } from '../../src/models/responses.ts';
import { asked, failing, type Make, streamed } from './one-answer.ts';

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

  it.each([503, '503'])('in a list that came with status 200 is one, too: %j', async (code) => {
    const body = JSON.stringify([{ error: { code, message: 'The model is overloaded.' } }]);
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

describe('a request that is too long', () => {
  const code = async (error: object, status = 400) =>
    ((await failing(openaiClient, status, JSON.stringify(error))) as { code: string }).code;
  it.each([
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens`',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    'Invalid request: Your request exceeded model token limit: 131072',
    'Prompt exceeds max length',
    'prompt token count of 130000 exceeds the limit of 128000',
    'Range of input length should be [1, 30720]',
    'Please reduce the length of the messages or completion.',
    "'max_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens",
  ])('is known by what vendors say: %s', async (message) => {
    expect(await code({ error: { message, type: 'invalid_request_error' } })).toBe('context_length');
  });

  it('is known by the code beside a type', async () => {
    const error = { message: 'Too long.', type: 'invalid_request_error', code: 'context_length_exceeded' };
    expect(await code({ error })).toBe('context_length');
  });

  it('is known in a stream that gives no code, and not tried again', async () => {
    const message = 'Trying to keep the first 5000 tokens, but the model is loaded with context length of only 4096';
    const answer = streamed(openaiClient, `event: error\ndata: ${JSON.stringify({ error: { message } })}\n\n`);
    await expect(answer).rejects.toMatchObject({ code: 'context_length', details: { retryable: false } });
  });

  it.each([
    "'max_tokens' must be less than or equal to 8192",
    'max_completion_tokens exceeds the maximum tokens of an answer',
    'max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens',
    "Unsupported parameter: 'context_window' is not supported with this model.",
  ])('is none when another field is wrong: %s', async (message) => {
    expect(await code({ error: { message, type: 'invalid_request_error' } })).toBe('provider');
  });

  it('is none when the error only repeats what a tool has read', async () => {
    const detail = [
      { loc: ['body', 'messages', 3], msg: 'Input should be a valid string', input: 'prompt is too long' },
    ];
    expect(await code({ detail }, 400)).toBe('provider');
  });
});
