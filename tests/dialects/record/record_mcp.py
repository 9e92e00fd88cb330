# /// script
# requires-python = ">=3.10"
# dependencies = ["mcp==2.1.1", "opentelemetry-sdk==1.45.1"]
# ///
"""A Model Context Protocol client and server in one process; the SDK traces itself."""

from __future__ import annotations

import asyncio

import shop
from mcp import Client
from mcp.server.mcpserver import MCPServer
from opentelemetry import trace
from otlp_file import OtlpFile


async def main() -> None:
    file = OtlpFile("mcp")
    trace.set_tracer_provider(file.provider())
    server = MCPServer("orders")
    server.tool()(shop.lookup_order)
    server.tool()(shop.check_stock)
    async with Client(server) as client:
        await client.call_tool("lookup_order", {"number": "A-17"})
        await client.call_tool("check_stock", {"item": "mug"})
    file.write()


if __name__ == "__main__":
    asyncio.run(main())
