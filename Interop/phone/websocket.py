"""RFC 6455 on one QUIC stream, framed by wsproto, so that no code of ours checks itself."""

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Ping, RejectConnection, Request, TextMessage

CHUNK = 64 * 1024


class Rejected(Exception):
    """The upgrade was answered with something else than 101."""


class WebSocket:
    """One side of a WebSocket; `receive` gives whole text messages and None after a close."""

    def __init__(self, stream, role: ConnectionType):
        self.writer = stream.send()
        self.reader = stream.recv()
        self.protocol = WSConnection(role)
        self.events = self.protocol.events()
        self.text = ""

    @classmethod
    async def connect(cls, stream) -> "WebSocket":
        """As the phone does it: `GET /` at the host `daemon.mew`, no subprotocol, no extension."""
        socket = cls(stream, ConnectionType.CLIENT)
        await socket._send(Request(host="daemon.mew", target="/"))
        event = await socket._next()
        if isinstance(event, RejectConnection):
            raise Rejected(f"status {event.status_code}")
        assert isinstance(event, AcceptConnection), event
        assert event.subprotocol is None and not event.extensions, "the phone's library refuses these"
        return socket

    @classmethod
    async def accept(cls, stream) -> "WebSocket":
        socket = cls(stream, ConnectionType.SERVER)
        event = await socket._next()
        assert isinstance(event, Request), event
        await socket._send(AcceptConnection())
        return socket

    async def send(self, text: str) -> None:
        await self._send(Message(data=text))

    async def receive(self) -> str | None:
        while True:
            event = await self._next()
            if isinstance(event, TextMessage):
                self.text += event.data
                if event.message_finished:
                    text, self.text = self.text, ""
                    return text
            elif isinstance(event, Ping):
                await self._send(event.response())
            elif event is None or isinstance(event, CloseConnection):
                return None

    async def _send(self, event) -> None:
        await self.writer.write_all(self.protocol.send(event))

    async def _next(self):
        """The next event; None at the end of the stream."""
        while True:
            for event in self.events:
                return event
            data = await self.reader.read(CHUNK)
            if not data:
                return None
            self.protocol.receive_data(data)
            self.events = self.protocol.events()
