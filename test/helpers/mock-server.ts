import { LLMock } from '@copilotkit/aimock';
import { afterAll, afterEach, beforeAll } from 'vitest';

/** A server that we did not write, for the tests of a file; what one test tells it is gone for the next. */
export function mockServer(): LLMock {
  const mock = new LLMock({ port: 0 });
  beforeAll(async () => void (await mock.start()));
  afterAll(() => mock.stop());
  afterEach(() => {
    mock.clearFixtures();
    mock.clearRequests();
    mock.resetMatchCounts();
  });
  return mock;
}
