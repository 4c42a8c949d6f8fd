"""A phone as the stock app behaves (one connection, one stream, one session at a time), without a screen."""

import asyncio
import json
import re

import iroh
from iroh_stream import STOCK, Failure, StockStream, address

# Longer than any step takes on a busy machine; a test never waits this long unless it fails.
PATIENCE = 20.0


class Closed(Exception):
    """How a connection ended, as iroh words it."""

    @property
    def code(self) -> int | None:
        """The application close code, when the peer closed with one."""
        found = re.search(r"code[ :=]+(\d+)", str(self))
        return int(found[1]) if found else None


def words(error: iroh.IrohError) -> str:
    """The first line; the rest is a stack trace."""
    return str(error).splitlines()[0]


class Phone:
    """`where` is IP:PORT: the stock app finds it by a public lookup, which these scenarios do without."""

    def __init__(self, endpoint: iroh.Endpoint, node_hex: str, where: str, token: str | None):
        self.endpoint = endpoint
        self.node_hex = node_hex
        self.where = where
        # The stock app keeps its token for ever and sends it on every connection (mew-wire §2.5, D1).
        self.token = token
        self.seen: list[dict] = []

    async def connect(self) -> None:
        """Dials, opens the stream, upgrades and says hello; does not wait for the answer, as the app does not."""
        self.connection = await self.dial()
        self.stream = await StockStream.dial(self.connection)
        hello = {"type": "remote_hello", "device_name": "mew mobile"}
        if self.token:
            hello["token"] = self.token
        await self.send(hello)

    async def dial(self) -> iroh.Connection:
        dialling = self.endpoint.connect(address(self.node_hex, self.where), STOCK)
        return await asyncio.wait_for(dialling, PATIENCE)

    def drop(self) -> None:
        """What iOS does to a suspended app's connection."""
        self.connection.close(0, b"")

    async def closed(self) -> Closed:
        """How the daemon ended the connection."""
        return Closed(await asyncio.wait_for(self.connection.closed(), PATIENCE))

    async def send(self, message: dict) -> None:
        await self.stream.send(json.dumps(message))

    async def receive(self) -> dict:
        """The next message of any type."""
        text = await self.stream.receive()
        if text is None:
            raise Closed("the stream ended")
        message = json.loads(text)
        self.seen.append(message)
        return message

    async def expect(self, kind: str, **fields) -> dict:
        """Skips messages until one of this type with these fields comes."""
        skipped = []
        while True:
            try:
                message = await self.receive()
            except Failure as failure:
                raise AssertionError(f"no {kind} {fields} came ({failure}); instead: {skipped}") from None
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
