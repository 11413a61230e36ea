// A client of the official TypeScript SDK 2.x, which does what client_v1.py does.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const headers = { Authorization: `Bearer ${process.env.CATALOG_TOKEN}` };
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]), { requestInit: { headers } });
const options = process.env.MODE ? { versionNegotiation: { mode: process.env.MODE } } : {};
const client = new Client({ name: 'tests', version: '1' }, options);
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const found = await client.callTool({ name: 'search_catalog', arguments: { query: 'orders' } });
const wrong = await client.callTool({ name: 'search_catalog', arguments: { limt: 1 } });
let unknown = '';
try {
  await client.callTool({ name: 'nothing', arguments: {} });
} catch (error) {
  unknown = String(error);
}
console.log(
  JSON.stringify({
    version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
    tools,
    total: found.structuredContent.total,
    wrong: [wrong.isError, wrong.content[0].text],
    unknown,
  }),
);
await client.close();
