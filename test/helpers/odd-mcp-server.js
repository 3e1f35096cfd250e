// An MCP server by hand, for what the SDK's own would not do. The first argument says what.
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

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

const structuredContent = { rows: [1, 2] };
const png = 'iVBORw0KGgo=';

/** Results that hold what a model must not lose. */
const kept = [
  { content: [{ type: 'text', text: '' }], structuredContent },
  { content: [{ type: 'image', mimeType: 'image/jpeg', data: png }], structuredContent },
  { content: [{ type: 'resource', resource: { uri: 'a://b', mimeType: 'image/png', blob: png } }] },
  { content: [{ type: 'resource', resource: { uri: 'a://b', mimeType: 'application/zip', blob: 'AAAA' } }] },
];

let pages = 0;

// A server that does not want to end.
if (mode === 'stubborn') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
  setInterval(() => {}, 1000);
  appendFileSync(file, String(process.pid));
}

async function answer({ method, params }) {
  if (mode === 'away') while (!existsSync(file)) await delay(20);
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
  }
  if (method === 'tools/call' && mode === 'shapes') return shapes[params.arguments?.shape ?? 0];
  if (method === 'tools/call' && mode === 'names')
    return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
  if (method === 'tools/call' && mode === 'kept') return kept[params.arguments.kind];
  if (method === 'tools/call' && mode === 'progress') {
    const { progressToken } = params._meta;
    const progress = { method: 'notifications/progress', params: { progressToken, total: 50_000 } };
    for (let count = 1; count <= 50_000; count++) say({ ...progress, params: { ...progress.params, progress: count } });
  }
  if (method === 'tools/call') {
    if (mode === 'vanish') setTimeout(() => say({ method: 'notifications/tools/list_changed' }), 5);
    return { content: [{ type: 'text', text: 'fine' }] };
  }
  if (mode === 'names') return { tools: [{ ...ok, inputSchema: { properties: { $filter: { type: 'string' } } } }] };
  if (mode === 'pages') {
    await delay(100);
    return { tools: [{ ...ok, name: `page${++pages}` }], nextCursor: String(pages) };
  }
  if (mode === 'circle') return { tools: [{ ...ok, name: `page${++pages}` }], nextCursor: String(pages % 2) };
  if (mode === 'huge')
    return {
      tools: [ok, { ...ok, name: 'huge', inputSchema: { properties: { a: { description: 'B'.repeat(500_000) } } } }],
    };
  if (mode === 'vanish')
    return { tools: pages++ > 0 ? [] : Array.from({ length: 200 }, (_, index) => ({ ...ok, name: `t${index}` })) };
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
  if (message.id !== undefined) void answer(message).then((result) => say({ id: message.id, result }));
}
