// A real MCP server over streamable HTTP, without sessions. Prints a line when it listens.
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const port = Number(process.argv[2]);

createServer(async (request, response) => {
  const server = new McpServer({ name: 'web', version: '1.0.0' });
  const options = { description: 'Says who asks.', annotations: { readOnlyHint: true } };
  server.registerTool('who', options, () => ({
    content: [{ type: 'text', text: String(request.headers.authorization ?? 'nobody') }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on('close', () => void transport.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}).listen(port, '127.0.0.1', () => console.log('listening'));
