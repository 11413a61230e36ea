"""A client of the official Python SDK 2.x, which does what `client_v1.py` does.

An era may be named by `MODE`.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def transport(where, command):
    if where == "stdio":
        program = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
        yield stdio_client(program)
    else:
        headers = {"Authorization": f"Bearer {os.environ['CATALOG_TOKEN']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            yield streamable_http_client(where, http_client=http)


async def main(where, *command):
    async with (
        transport(where, command) as opened,
        Client(opened, mode=os.environ.get("MODE", "auto")) as client,
    ):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("search_catalog", {"query": "orders"})
        wrong = await client.call_tool("search_catalog", {"limt": 1})
        try:
            await client.call_tool("nothing", {})
            unknown = ""
        except Exception as error:
            unknown = str(error)
        print(
            json.dumps(
                {
                    "version": client.protocol_version,
                    "tools": tools,
                    "total": found.structured_content["total"],
                    "wrong": [wrong.is_error, wrong.content[0].text],
                    "unknown": unknown,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
