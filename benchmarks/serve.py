"""A small endpoint of many engines for the benchmarks: /rN/metrics answers with recorded scrapes in turn.

Usage: python benchmarks/serve.py [FILE]   with FILE every answer is that file. Prints the port, ends with its parent.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import corpus

VERSION = json.dumps({"version": "0.32.0"}).encode()
MODELS = json.dumps({"object": "list", "data": [{"id": "tiny", "max_model_len": 2048}]}).encode()


def answer(path: str, bodies: list[bytes], asked: Counter[str]) -> tuple[int, bytes, str]:
    """Status, body and content type; each engine steps through the scrapes on its own."""
    route = path.partition("?")[0]
    if route.endswith("/metrics"):
        n = asked[route]
        asked[route] += 1
        return 200, bodies[min(n, len(bodies) - 1)], "text/plain; version=0.0.4"
    if route.endswith("/version"):
        return 200, VERSION, "application/json"
    if route.endswith("/v1/models"):
        return 200, MODELS, "application/json"
    if route.endswith("/reset"):
        asked.clear()
        return 200, b"{}", "application/json"
    return 404, b"{}", "application/json"


async def main() -> None:
    """Serves until stdin closes."""
    recorded = [text.encode() for _, text in corpus.scrapes()]
    bodies = [Path(sys.argv[1]).read_bytes()] if len(sys.argv) > 1 else recorded[len(recorded) // 2 - 1 :]
    asked: Counter[str] = Counter()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                status, body, kind = answer(request.split(b" ", 2)[1].decode("latin-1"), bodies, asked)
                head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        server.close()


if __name__ == "__main__":
    asyncio.run(main())
