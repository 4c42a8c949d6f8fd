"""The iroh side of the comparison, through its Python binding.

    python -m bench.iroh_peer serve [RELAY]
    python -m bench.iroh_peer handshakes NODE WHERE SECONDS IN_FLIGHT
    python -m bench.iroh_peer echo NODE WHERE COUNT
    python -m bench.iroh_peer receive NODE WHERE BYTES

WHERE is an address, or the URL of the relay that is the only way.

The binding copies what is sent byte by byte in a Python loop. That loop is replaced here by one copy, or it would be the
binding that is timed.
"""

import asyncio
import contextlib
import ctypes
import json
import statistics
import sys
import time

import iroh
from iroh import iroh_ffi
from iroh_stream import address

ALPN = b"mew/bench/0"
CHUNK = 1 << 20
ECHO_BYTES = 64
WARM_UP = 200


def write_at_once(self, value) -> None:
    size = len(value)
    with self._reserve(size):
        ctypes.memmove(ctypes.addressof(self.rbuf.data.contents) + self.rbuf.len, bytes(value), size)


iroh_ffi._UniffiRustBufferBuilder.write = write_at_once


async def endpoint(relay: str | None = None) -> iroh.Endpoint:
    iroh_ffi.uniffi_set_event_loop(asyncio.get_running_loop())
    mode = iroh.RelayMode.disabled()
    if relay:
        relays = iroh.RelayMap.empty()
        relays.insert(iroh.RelayConfig(url=relay, quic_port=None, auth_token=None))
        mode = iroh.RelayMode.custom(relays)
    made = await iroh.Endpoint.bind(
        iroh.EndpointOptions(
            preset=iroh.preset_minimal(), bind_addr="0.0.0.0:0" if relay else "127.0.0.1:0", alpns=[ALPN],
            relay_mode=mode))
    if relay:
        await made.online()
    return made


@contextlib.asynccontextmanager
async def stream_to(node: str, where: str):
    """A stream to the server; the endpoint and the connection live as long as it is used."""
    if "://" in where:
        client, target = await endpoint(where), iroh.EndpointAddr(iroh.EndpointId.from_string(node), where, [])
    else:
        client, target = await endpoint(), address(node, where)
    connection = await client.connect(target, ALPN)
    stream = await connection.open_bi()
    yield stream.recv(), stream.send()
    connection.close(0, b"")


async def serve(relay: str | None = None) -> None:
    server = await endpoint(relay)
    port = server.bound_sockets()[0].rpartition(":")[2]
    print(json.dumps({"node_id": str(server.id()), "addr": f"127.0.0.1:{port}"}), flush=True)
    tasks = set()
    while (incoming := await server.accept_next()) is not None:
        task = asyncio.create_task(connection(incoming))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


async def connection(incoming) -> None:
    try:
        accepted = await (await incoming.accept()).connect()
        while True:
            stream = await accepted.accept_bi()
            reader, writer = stream.recv(), stream.send()
            request = await reader.read_exact(9)
            size = int.from_bytes(request[1:], "big")
            if request[:1] == b"E":
                await echo_back(reader, writer)
            else:
                await send(writer, size)
    except iroh.IrohError:
        pass  # the client is done


async def echo_back(reader, writer) -> None:
    while data := await reader.read(ECHO_BYTES):
        await writer.write_all(data)


async def send(writer, size: int) -> None:
    chunk = bytes(CHUNK)
    while size > 0:
        await writer.write_all(chunk[:size] if size < CHUNK else chunk)
        size -= CHUNK
    await writer.finish()


async def handshakes(node: str, where: str, seconds: str, in_flight: str) -> dict:
    client = await endpoint()
    target = address(node, where)
    times = []
    end = time.perf_counter() + float(seconds)

    async def worker() -> None:
        while (start := time.perf_counter()) < end:
            connected = await client.connect(target, ALPN)
            times.append(time.perf_counter() - start)
            connected.close(0, b"")

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(int(in_flight))))
    return {"per_second": len(times) / (time.perf_counter() - began), "p50_us": statistics.median(times) * 1e6}


async def echo(node: str, where: str, count: str) -> dict:
    payload = bytes(ECHO_BYTES)
    times = []
    async with stream_to(node, where) as (reader, writer):
        await writer.write_all(b"E" + bytes(8))
        for turn in range(-WARM_UP, int(count)):
            start = time.perf_counter()
            await writer.write_all(payload)
            await reader.read_exact(ECHO_BYTES)
            if turn >= 0:
                times.append(time.perf_counter() - start)
    times.sort()
    return {"p50_us": times[len(times) // 2] * 1e6, "p99_us": times[int(len(times) * 0.99)] * 1e6}


async def receive(node: str, where: str, size: str) -> dict:
    got = 0
    async with stream_to(node, where) as (reader, writer):
        start = time.perf_counter()
        await writer.write_all(b"S" + int(size).to_bytes(8, "big"))
        while data := await reader.read(CHUNK):
            got += len(data)
        seconds = time.perf_counter() - start
    assert got == int(size), got
    return {"bytes": got, "seconds": seconds}


async def main() -> None:
    command, *arguments = sys.argv[1:]
    result = await {"serve": serve, "handshakes": handshakes, "echo": echo, "receive": receive}[command](*arguments)
    print(json.dumps(result), flush=True)


asyncio.run(main())
