// Starts an MCP server and ends without closing it. Arguments: the server's script, its mode, the file it writes to.
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { StdioTransport } from '../../src/tools/mcp/stdio-transport.ts';

const args = process.argv.slice(2);
const server = new StdioTransport({ command: process.execPath, args, env: process.env, cwd: process.cwd() });
await server.start();
while (!existsSync(args.at(-1) ?? '')) await delay(10);
process.exit(0);
