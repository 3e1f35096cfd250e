// An MCP server by hand, for what the SDK's own would not do. The first argument says what.
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [mode, file] = process.argv.slice(2);
if (mode === 'later' && !existsSync(file)) process.exit(3);

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const ok = {
  name: 'ok',
  description: 'Is fine.',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};
const odd = [
  { name: 'no-type', inputSchema: { properties: { a: { type: 'string' } }, required: 'a' } },
  { name: 'no-schema', description: null },
  { name: 'a-list', inputSchema: { type: 'array', properties: [] } },
  { name: 'refers', inputSchema: { type: 'object', $defs: { A: {} }, properties: { a: { $ref: '#/$defs/A' } } } },
  { name: 'promises', inputSchema: { type: 'object' }, outputSchema: { type: 'object', $ref: '#/nowhere' } },
  { name: 'ok', description: 'The same name again.' },
  { name: '' },
  'no tool',
];

/** Results that are none. */
const shapes = [
  { content: 'fine' },
  { content: [{ type: 'text', text: 7 }] },
  { content: [{ type: 'hologram', data: 'x' }] },
  [],
  { content: [null], isError: 'yes' },
  'fine',
];

// A server that does not want to end.
if (mode === 'stubborn') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
  setInterval(() => {}, 1000);
  appendFileSync(file, String(process.pid));
}

function answer({ method, params }) {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
  }
  if (method === 'tools/call' && mode === 'shapes') return shapes[params.arguments?.shape ?? 0];
  if (method === 'tools/call' && mode === 'progress') {
    const { progressToken } = params._meta;
    const progress = { method: 'notifications/progress', params: { progressToken, total: 50_000 } };
    for (let count = 1; count <= 50_000; count++) say({ ...progress, params: { ...progress.params, progress: count } });
  }
  if (method === 'tools/call') return { content: [{ type: 'text', text: 'fine' }] };
  if (mode === 'storm') {
    appendFileSync(file, 'l');
    setTimeout(() => {
      for (let count = 0; count < 5; count++) say({ method: 'notifications/tools/list_changed' });
    }, 5);
  }
  return { tools: mode === 'odd' ? [...odd.slice(0, 2), ok, ...odd.slice(2)] : [ok] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id !== undefined) say({ id: message.id, result: answer(message) });
}
