"""The smallest stock daemon: it accepts one stream a connection, and answers hello, ping and the session list."""

import asyncio
import contextlib
import json

import iroh
from iroh_stream import STOCK, StockStream

ANSWERS = {
    "remote_hello": [{"type": "remote_ready", "scope": "control"}],
    "ping": [{"type": "pong", "version": "0.2.0"}],
    "list_sessions": [{"type": "session_list", "sessions": []}, {"type": "group_list", "groups": []}],
}


class StockDaemon:
    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.seen: list[dict] = []
        self.peers: list[str] = []

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            while (incoming := await self.endpoint.accept_next()) is not None:
                group.create_task(self._connection(incoming))

    async def _connection(self, incoming) -> None:
        accepting = await incoming.accept()
        connection = await accepting.connect()
        assert connection.alpn() == STOCK, connection.alpn()
        self.peers.append(str(connection.remote_id()))
        with contextlib.suppress(iroh.IrohError):  # the peer hung up
            await self._talk(await StockStream.accept(connection))

    async def _talk(self, stream: StockStream) -> None:
        while (text := await stream.receive()) is not None:
            message = json.loads(text)
            self.seen.append(message)
            for answer in ANSWERS.get(message["type"], []):
                await stream.send(json.dumps(answer))
