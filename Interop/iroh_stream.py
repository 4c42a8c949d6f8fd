"""A stock mew stream of a real iroh endpoint: WebSocket frames on one bidirectional stream (spec/mew-wire.md section 1).

The frames are made and read by wsproto, so that no code of ours checks itself.
"""

import asyncio
import contextlib

import iroh
import iroh_copy  # noqa: F401
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection, BytesMessage, CloseConnection, Ping, Pong, RejectConnection, Request, TextMessage,
)

STOCK = b"mew/wire/0"
NATIVE = b"mew/wire/1"

# Longer than any step takes on a busy machine, shorter than a person's patience.
STEP_SECONDS = 20


class Failure(Exception):
    """The peer did something else than the scenario demands."""


async def endpoint(alpns=None):
    """An endpoint on loopback, without relays and lookups."""
    return await iroh.Endpoint.bind(
        iroh.EndpointOptions(
            preset=iroh.preset_minimal(),
            bind_addr="127.0.0.1:0",
            alpns=alpns,
            relay_mode=iroh.RelayMode.disabled(),
        )
    )


def address(node_hex, socket_address):
    return iroh.EndpointAddr(iroh.EndpointId.from_string(node_hex), None, [socket_address])


async def step(what, awaitable):
    """Awaits with a deadline and names the step when it passes."""
    try:
        return await asyncio.wait_for(awaitable, STEP_SECONDS)
    except asyncio.TimeoutError:
        raise Failure(f"nothing happened within {STEP_SECONDS} s: {what}") from None


class StockStream:
    def __init__(self, stream, role):
        self.send_half = stream.send()
        self.receive_half = stream.recv()
        self.ws = WSConnection(role)
        self.parts = []
        self.messages = []
        self.pongs = []
        self.closed = False
        self.upgraded = False

    @classmethod
    async def dial(cls, connection):
        """Opens the one stream and upgrades it, as the phone does."""
        self = cls(await step("open a stream", connection.open_bi()), ConnectionType.CLIENT)
        await self.write(self.ws.send(Request(host="daemon.mew", target="/")))
        while not self.upgraded:
            await self.pump("the answer to the upgrade")
        return self

    @classmethod
    async def accept(cls, connection):
        """Takes the one stream and answers its upgrade, as the stock daemon does."""
        self = cls(await step("accept a stream", connection.accept_bi()), ConnectionType.SERVER)
        while not self.upgraded:
            await self.pump("the upgrade request")
        return self

    async def write(self, data):
        await step("write", self.send_half.write_all(data))

    async def send(self, text):
        await self.write(self.ws.send(TextMessage(data=text)))

    async def send_in_fragments(self, parts):
        for index, part in enumerate(parts):
            await self.write(self.ws.send(TextMessage(data=part, message_finished=index == len(parts) - 1)))

    async def ping(self, payload):
        await self.write(self.ws.send(Ping(payload=payload)))
        while payload not in self.pongs:
            await self.pump("the answer to a ping")

    async def receive(self):
        """The next message; None at the end."""
        while not self.messages and not self.closed:
            await self.pump("a message")
        return self.messages.pop(0) if self.messages else None

    async def close(self):
        await self.write(self.ws.send(CloseConnection(code=1000)))
        while not self.closed:
            await self.pump("the answer to a close")

    async def pump(self, what):
        data = await step(what, self.receive_half.read(65536))
        self.ws.receive_data(data if data else None)
        for event in self.ws.events():
            await self.handle(event)

    async def handle(self, event):
        match event:
            case Request():
                self.upgraded = True
                await self.write(self.ws.send(AcceptConnection()))
            case AcceptConnection():
                if event.subprotocol or event.extensions:
                    raise Failure("the upgrade chose a subprotocol or an extension")
                self.upgraded = True
            case RejectConnection():
                raise Failure(f"the upgrade was refused with status {event.status_code}")
            case TextMessage() | BytesMessage():
                self.parts.append(event.data)
                if event.message_finished:
                    self.messages.append("".join(self.parts))
                    self.parts = []
            case Ping():
                await self.write(self.ws.send(event.response()))
            case Pong():
                self.pongs.append(bytes(event.payload))
            case CloseConnection():
                if not self.closed and self.ws.state.name == "REMOTE_CLOSING":
                    # A peer that closes the connection behind its last frame does not take the answer any more.
                    with contextlib.suppress(iroh.IrohError):
                        await self.write(self.ws.send(event.response()))
                self.closed = True
