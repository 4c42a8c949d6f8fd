"""A phone as the stock app behaves (one connection, one stream, one session at a time), without a screen."""

import asyncio
import json

import iroh

from . import node
from .websocket import WebSocket

# Longer than any step takes on a busy machine; a test never waits this long unless it fails.
PATIENCE = 20.0


class Phone:
    def __init__(self, endpoint: iroh.Endpoint, node_hex: str, addresses: list[str], token: str | None):
        self.endpoint = endpoint
        self.node_hex = node_hex
        self.addresses = addresses
        # The stock app keeps its token for ever and sends it on every connection (mew-wire §2.5, D1).
        self.token = token
        self.seen: list[dict] = []

    async def connect(self) -> None:
        """Dials, opens the stream, upgrades and says hello; does not wait for the answer, as the app does not."""
        self.connection = await asyncio.wait_for(node.dial(self.endpoint, self.node_hex, self.addresses), PATIENCE)
        stream = await self.connection.open_bi()
        self.socket = await asyncio.wait_for(WebSocket.connect(stream), PATIENCE)
        hello = {"type": "remote_hello", "device_name": "mew mobile"}
        if self.token:
            hello["token"] = self.token
        await self.send(hello)

    def drop(self) -> None:
        """What iOS does to a suspended app's connection."""
        self.connection.close(0, b"")

    async def send(self, message: dict) -> None:
        await self.socket.send(json.dumps(message))

    async def receive(self) -> dict:
        """The next message of any type."""
        text = await asyncio.wait_for(self.socket.receive(), PATIENCE)
        if text is None:
            raise node.Closed("the stream ended")
        message = json.loads(text)
        self.seen.append(message)
        return message

    async def expect(self, kind: str, **fields) -> dict:
        """Skips messages until one of this type with these fields comes."""
        skipped = []
        while True:
            try:
                message = await self.receive()
            except TimeoutError:
                raise AssertionError(f"no {kind} {fields} came; instead: {skipped}") from None
            if message["type"] == kind and all(message.get(name) == value for name, value in fields.items()):
                return message
            skipped.append(message)

    async def ask(self, message: dict, kind: str, **fields) -> dict:
        await self.send(message)
        return await self.expect(kind, **fields)

    async def quiet(self) -> list[dict]:
        """Everything that was on its way: what comes before the answer to a ping."""
        await self.send({"type": "ping"})
        messages = []
        while (message := await self.receive())["type"] != "pong":
            messages.append(message)
        return messages
