"""A client of the official Python SDK 1.x: lists, calls and errs; prints what it was answered.

Run by the interpreter that has the SDK, with an address, or `stdio` and a command, and a token.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


@asynccontextmanager
async def streams(where, command):
    if where == "stdio":
        program = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
        async with stdio_client(program) as opened:
            yield opened
    else:
        headers = {"Authorization": f"Bearer {os.environ['CATALOG_TOKEN']}"}
        async with streamablehttp_client(where, headers=headers) as (read, write, _):
            yield read, write


async def main(where, *command):
    async with streams(where, command) as (read, write), ClientSession(read, write) as session:
        version = (await session.initialize()).protocolVersion
        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool("search_catalog", {"query": "orders"})
        wrong = await session.call_tool("search_catalog", {"limt": 1})
        try:
            await session.call_tool("nothing", {})
            unknown = ""
        except Exception as error:
            unknown = str(error)
        print(
            json.dumps(
                {
                    "version": version,
                    "tools": tools,
                    "total": found.structuredContent["total"],
                    "wrong": [wrong.isError, wrong.content[0].text],
                    "unknown": unknown,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
