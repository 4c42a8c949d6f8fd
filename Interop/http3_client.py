"""aioquic, somebody else's HTTP/3, at our relay: `python -m http3_client HOST PORT LAW`.

What is said on top of HTTP/3 is written here once more, after ARCHITECTURE.md ("Relay over HTTP/3") and with nothing of ours. Each law
prints a line for each thing that held, and ends with 1 and a sentence when something did not.
"""

import asyncio
import base64
import ssl
import sys
from contextlib import asynccontextmanager

from aioquic import tls
from aioquic.asyncio import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import Buffer, encode_uint_var
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DatagramReceived, DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamReset
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import Hash

SECONDS = 10
CAPSULES = 0x16D65700
DATAGRAM, WELCOME, BIND, BOUND, RELEASE, PING, PONG, GONE = 0, *(CAPSULES + number for number in range(7))
CLOSE = CAPSULES + 9


class Failed(Exception):
    """The relay did something else than the law demands."""


def expect(holds, what):
    if not holds:
        raise Failed(what)


class Exporting(tls.Context):
    """aioquic exports no keying material; this keeps what it is made of, at the point that RFC 8446 §7.1 names."""

    def _setup_traffic_protection(self, direction, epoch, label):
        super()._setup_traffic_protection(direction, epoch, label)
        if label == b"s ap traffic":
            self.exporter = self.key_schedule.derive_secret(b"exp master")

    def export(self, label, length):
        """RFC 8446 §7.5, with an empty context."""
        algorithm = self.key_schedule.algorithm
        empty = Hash(algorithm).finalize()
        secret = tls.hkdf_expand_label(algorithm, self.exporter, label, empty, algorithm.digest_size)
        return tls.hkdf_expand_label(algorithm, secret, b"exporter", empty, length)


tls.Context = Exporting


class Key:
    """A node key, and what it signs."""

    def __init__(self):
        self.secret = Ed25519PrivateKey.generate()
        self.id = self.secret.public_key().public_bytes_raw()

    @property
    def name(self):
        """z-base-32."""
        alphabet = "ybndrfg8ejkmcpqxot1uwisza345h769"
        bits = "".join(f"{byte:08b}" for byte in self.id) + "0000"
        return "".join(alphabet[int(bits[at:at + 5], 2)] for at in range(0, len(bits), 5))

    def proof(self, material, purpose=0, of=b""):
        signature = self.secret.sign(b"mew/relay-h3\x00\x01" + bytes([purpose]) + material + of)
        return f"{self.name} {base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        # Datagrams come with WebTransport there; nothing else of it is used.
        self.http = H3Connection(self._quic, enable_webtransport=True)
        self.streams = {}
        self.datagrams = asyncio.Queue()

    def quic_event_received(self, event):
        if isinstance(event, StreamReset):
            self.stream(event.stream_id).put_nowait((None, True))
        for http in self.http.handle_event(event):
            if isinstance(http, HeadersReceived):
                self.stream(http.stream_id).put_nowait((dict(http.headers), http.stream_ended))
            elif isinstance(http, DataReceived):
                self.stream(http.stream_id).put_nowait((http.data, http.stream_ended))
            elif isinstance(http, DatagramReceived):
                self.datagrams.put_nowait(http.data)

    def stream(self, number):
        return self.streams.setdefault(number, asyncio.Queue())

    def export(self):
        return self._quic.tls.export(b"EXPORTER-mew-relay-h3-1", 32)

    # Requests

    def request(self, fields, ends=True, body=b""):
        number = self._quic.get_next_available_stream_id()
        self.http.send_headers(number, [(name.encode(), value.encode()) for name, value in fields], ends and not body)
        if body:
            self.http.send_data(number, body, ends)
        self.transmit()
        return number

    async def answer(self, number):
        """Status, head, and whether that is all."""
        head, ended = await asyncio.wait_for(self.stream(number).get(), SECONDS)
        expect(head is not None, "the stream was reset")
        return int(head[b":status"]), head, ended

    async def status(self, number):
        return (await self.answer(number))[0]

    async def ask(self, method, path, body=b""):
        """Status and content."""
        fields = [(":method", method), (":scheme", "https"), (":authority", "relay"), (":path", path)]
        number = self.request(fields, body=body)
        status, _, ended = await self.answer(number)
        content = b""
        while not ended:
            piece, ended = await asyncio.wait_for(self.stream(number).get(), SECONDS)
            content += piece or b""
        return status, content

    def converse(self, proof, protocol="mew-relay-1", path="/relay", **more):
        fields = [
            (":method", "CONNECT"), (":protocol", protocol), (":scheme", "https"), (":authority", "relay"), (":path", path),
            ("capsule-protocol", "?1"), *([("x-mew-node", proof)] if proof else []),
            *((name.replace("_", "-"), value) for name, value in more.items())]
        return self.request(fields, ends=False)


class Conversation:
    """An extended CONNECT that was let in: capsules and datagrams."""

    def __init__(self, client, number):
        self.client = client
        self.number = number
        self.unread = b""

    @classmethod
    async def open(cls, client, key, **more):
        number = client.converse(key.proof(client.export()), **more)
        status, head, _ = await client.answer(number)
        expect(status == 200, f"the relay answered {status}")
        expect(head.get(b"capsule-protocol") == b"?1", "no capsule-protocol")
        self = cls(client, number)
        kind, welcome = await self.capsule()
        expect(kind == WELCOME, f"a capsule {kind:#x} before the welcome")
        return self, welcome

    def say(self, kind, payload):
        self.client.http.send_data(self.number, encode_uint_var(kind) + encode_uint_var(len(payload)) + payload, False)
        self.client.transmit()

    async def capsule(self):
        while True:
            buffer = Buffer(data=self.unread)
            try:
                kind, length = buffer.pull_uint_var(), buffer.pull_uint_var()
                payload = buffer.pull_bytes(length)
            except Exception:  # Not whole yet: the buffer says so by an error of its own.
                piece, _ = await asyncio.wait_for(self.client.stream(self.number).get(), SECONDS)
                expect(piece is not None, "the relay reset the request")
                self.unread += piece
                continue
            self.unread = self.unread[buffer.tell():]
            return kind, payload

    async def the(self, wanted):
        """The next capsule, which must be of this kind."""
        kind, payload = await self.capsule()
        expect(kind == wanted, f"a capsule {kind:#x} in place of {wanted:#x}")
        return payload

    async def bind(self, handle, node):
        self.say(BIND, encode_uint_var(handle) + node)
        expect(await self.the(BOUND) == encode_uint_var(handle), "BOUND names another handle")

    def send(self, handle, packet):
        self.client.http.send_datagram(self.number, encode_uint_var(handle) + packet)
        self.client.transmit()

    async def received(self):
        """A packet by datagram: its handle and itself."""
        buffer = Buffer(data=await asyncio.wait_for(self.client.datagrams.get(), SECONDS))
        handle = buffer.pull_uint_var()
        return handle, buffer.pull_bytes(buffer.capacity - buffer.tell())


@asynccontextmanager
async def client(host, port):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], max_datagram_frame_size=65536)
    configuration.verify_mode = ssl.CERT_NONE
    async with connect(host, port, configuration=configuration, create_protocol=Client) as protocol:
        yield protocol


# The laws


async def anybody(host, port):
    """Who says nothing about himself hears whether the relay is there and where nodes are, and nothing else."""
    async with client(host, port) as one:
        for path, wanted in (("/ping", 200), ("/healthz", 200), ("/metrics", 404), ("/", 404), ("/relay", 404)):
            status, content = await one.ask("GET", path)
            expect(status == wanted, f"{path}: {status}")
            print(f"GET {path}: {status}, {len(content)} bytes")
        status, _ = await one.ask("GET", f"/pkarr/{Key().name}")
        expect(status == 404, f"a record that was never written: {status}")
        status, _ = await one.ask("PUT", f"/pkarr/{Key().name}", b"no record")
        expect(status == 400, f"a record that is none: {status}")
        settings = one.http.received_settings
        expect(settings.get(0x8) == 1 and settings.get(0x33) == 1, f"settings {settings}")
        print("SETTINGS_ENABLE_CONNECT_PROTOCOL and SETTINGS_H3_DATAGRAM are 1")


async def refused(host, port):
    """An extended CONNECT that proves nothing, or asks for something else, is answered with what is wrong, and the connection lives."""
    key, other = Key(), Key()
    async with client(host, port) as one:
        good = key.proof(one.export())
        stolen = f"{other.name} {good.split()[1]}"
        tries = [
            (401, None, {}), (401, stolen, {}), (401, "nonsense", {}), (404, good, {"path": "/other"}),
            (501, good, {"protocol": "connect-udp"}), (401, good, {"x_mew_account": other.proof(bytes(32), 1, key.id)})]
        for wanted, proof, more in tries:
            status = await one.status(one.converse(proof, **more))
            expect(status == wanted, f"{status} in place of {wanted} for {more or proof}")
        async with client(host, port) as two:
            status = await two.status(two.converse(good))
            expect(status == 401, f"{status}: the proof of another connection was taken")
        await Conversation.open(one, key)
        status = await one.status(one.converse(good))
        expect(status == 400, f"a second conversation: {status}")
        print(f"{len(tries) + 2} requests refused, and the one that was right let in")


async def talk(host, port):
    """Two clients exchange packets by capsule and by datagram, hear pongs, and one hears that the other has left."""
    keys = Key(), Key()
    async with client(host, port) as first, client(host, port) as second:
        one, welcome = await Conversation.open(first, keys[0])
        two, _ = await Conversation.open(second, keys[1])
        buffer = Buffer(data=welcome)
        size, handles = buffer.pull_uint_var(), buffer.pull_uint_var()
        print(f"packets of {size} bytes, {handles} handles")
        one.say(PING, b"12345678")
        expect(await one.the(PONG) == b"12345678", "another pong")
        # An unknown capsule is passed over.
        one.say(CAPSULES + 77, bytes(3000))
        await one.bind(5, keys[1].id)
        one.say(DATAGRAM, encode_uint_var(5) + b"first")
        # The relay binds a handle of its own, and the packet stands behind that.
        bind = Buffer(data=await two.the(BIND))
        handle = bind.pull_uint_var()
        expect(bind.pull_bytes(32) == keys[0].id, "bound to somebody else")
        packet = await two.the(DATAGRAM)
        expect(packet == encode_uint_var(handle) + b"first", "another packet")
        two.say(BOUND, encode_uint_var(handle))
        two.say(PING, b"after it")
        await two.the(PONG)
        for burst in range(10):
            packets = [bytes([burst * 10 + number]) * 1100 for number in range(10)]
            for packet in packets:
                one.send(5, packet)
            # In any order, as far as QUIC is concerned; on a path that keeps it they come in it.
            for packet in packets:
                expect(await two.received() == (handle, packet), f"packet {packet[0]} differs")
        print("101 packets, all but the first in datagrams")
        one.say(CLOSE, encode_uint_var(0))
        expect(await two.the(GONE) == keys[0].id, "somebody else left")


LAWS = {law.__name__: law for law in (anybody, refused, talk)}


def main():
    host, port, name = sys.argv[1:]
    try:
        asyncio.run(LAWS[name](host, int(port)))
    except (Failed, TimeoutError) as error:
        print(f"{name}: {error or 'nothing came'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
