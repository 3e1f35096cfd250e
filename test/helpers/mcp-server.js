// A real MCP server on standard input and output, by the SDK. Its behaviour is chosen by arguments.
import { appendFileSync, existsSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const [mode = 'plain', file = ''] = process.argv.slice(2);
if (mode === 'mute') setInterval(() => {}, 1000);
if (mode === 'broken') {
  console.error('no licence found');
  process.exit(3);
}
if (mode === 'late') await new Promise((resolve) => setInterval(() => existsSync(file) && resolve(), 20));
if (mode === 'banner') console.log('Welcome to this server!');

const server = new McpServer({ name: 'test', version: '1.0.0' });
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const readOnly = { readOnlyHint: true };

server.registerTool(
  'add',
  { description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() }, annotations: readOnly },
  ({ a, b }) => text(a + b),
);
server.registerTool('note', { description: 'Writes a line.', inputSchema: { line: z.string() } }, ({ line }) => {
  appendFileSync(file, `${line}\n`);
  return text('noted');
});
server.registerTool('fail', { description: 'Fails.' }, () => ({ ...text('it is broken'), isError: true }));
server.registerTool('die', { description: 'Ends the server.' }, () => process.exit(1));
server.registerTool('hang', { description: 'Never answers.' }, () => new Promise(() => {}));
server.registerTool('flood', { description: 'Says too much.' }, () => text('x'.repeat(20 * 1024 * 1024)));
server.registerTool('long', { description: 'Says a lot.' }, () => text('line of text\n'.repeat(10_000)));
server.registerTool('secret', { description: 'Shows a variable.' }, () => text(process.env.DOCS_TOKEN ?? 'unset'));
server.registerTool('picture', { description: 'Shows a picture.' }, () => ({
  content: [{ type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' }],
}));
server.registerTool('grow', { description: 'Adds a tool.' }, () => {
  server.registerTool('grown', { description: 'A tool that came later.' }, () => text('grown up'));
  return text('ok');
});
if (mode === 'many') {
  for (let index = 0; index < 200; index++) {
    const name = `task_${index}${index === 77 ? '_invoice' : ''}`;
    server.registerTool(name, { description: `Does task ${index}. ${'It is long. '.repeat(20)}` }, () => text(name));
  }
}
if (mode !== 'mute') await server.connect(new StdioServerTransport());
