"""A real iroh endpoint as a program; one JSON object a line on standard output, commands as lines on standard input.

    iroh_endpoint.py serve RELAY-URL|- QUIC-PORT ALPN [IP:PORT]   sends back what comes on every stream, as it comes
    iroh_endpoint.py source RELAY-URL|- QUIC-PORT ALPN [IP:PORT]  sends on every stream for as many seconds as it reads there
    iroh_endpoint.py dial RELAY-URL|- QUIC-PORT ALPN NODE [IP:PORT]
        `echo BYTES`     sends so much and reads it back
        `pull SECONDS`    takes what a source sends for so long
        `close`

Both say `online` with the seconds it took when their relay is there.
"""

import asyncio
import json
import sys
import time

import iroh
import iroh_copy  # noqa: F401

CHUNK = 32 << 10


def report(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


async def bind(relay, quic_port, alpn, address="0.0.0.0:0"):
    mode = iroh.RelayMode.disabled()
    if relay != "-":
        relays = iroh.RelayMap.empty()
        relays.insert(iroh.RelayConfig(url=relay, quic_port=int(quic_port), auth_token=None))
        mode = iroh.RelayMode.custom(relays)
    start = time.monotonic()
    endpoint = await iroh.Endpoint.bind(
        iroh.EndpointOptions(preset=iroh.preset_minimal(), bind_addr=address, alpns=[alpn.encode()], relay_mode=mode))
    if relay != "-":
        await endpoint.online()
    report("online", seconds=round(time.monotonic() - start, 3), id=str(endpoint.id()))
    return endpoint


async def serve(endpoint, talk):
    while (incoming := await endpoint.accept_next()) is not None:
        asyncio.create_task(answer(incoming, talk))


async def answer(incoming, talk):
    try:
        connection = await (await incoming.accept()).connect()
        report("connected", peer=str(connection.remote_id()), alpn=connection.alpn().decode())
        while True:
            asyncio.create_task(talk(await connection.accept_bi()))
    except iroh.IrohError as error:
        report("ended", how=str(error)[:300])


async def echo(stream):
    try:
        count = 0
        while data := await stream.recv().read(CHUNK):
            await stream.send().write_all(data)
            count += len(data)
        await stream.send().finish()
        report("echoed", bytes=count)
    except iroh.IrohError as error:
        report("broken", bytes=count, how=str(error)[:300])


async def source(stream):
    try:
        end = time.monotonic() + int(await stream.recv().read_to_end(16))
        offset = 0
        while time.monotonic() < end:
            await stream.send().write_all(block(offset))
            offset += CHUNK
        await stream.send().finish()
    except iroh.IrohError as error:
        report("broken", bytes=offset, how=str(error)[:300])


async def dial(endpoint, relay, alpn, node, addresses):
    where = iroh.EndpointAddr(iroh.EndpointId.from_string(node), None if relay == "-" else relay, addresses)
    start = time.monotonic()
    connection = await endpoint.connect(where, alpn.encode())
    report("connected", seconds=round(time.monotonic() - start, 3))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        match line.split():
            case ["echo", size]: await exchange(connection, int(size))
            case ["pull", seconds]: await pull(connection, seconds)
            case ["close"]:
                connection.close(0, b"done")
                return


async def exchange(connection, size):
    """Sends and reads at the same time."""
    stream = await connection.open_bi()
    start = time.monotonic()

    async def send():
        for offset in range(0, size, CHUNK):
            await stream.send().write_all(block(offset)[: size - offset])
        await stream.send().finish()

    _, received = await asyncio.gather(send(), receive(stream))
    if received != size:
        raise SystemExit(f"{received} of {size} bytes came back")
    report("echoed", bytes=size, seconds=round(time.monotonic() - start, 3))


async def pull(connection, seconds):
    stream = await connection.open_bi()
    await stream.send().write_all(seconds.encode())
    await stream.send().finish()
    report("pulled", bytes=await receive(stream))


async def receive(stream):
    """Reads to the end and compares every byte; how many there were."""
    received, expected = 0, bytearray()
    while part := await stream.recv().read(CHUNK):
        while len(expected) < len(part):
            expected += block(received + len(expected))
        if bytes(expected[: len(part)]) != bytes(part):
            raise SystemExit("other bytes came")
        del expected[: len(part)]
        received += len(part)
    return received


def block(offset):
    """CHUNK bytes that stand only at this offset (which is a multiple of CHUNK)."""
    return (offset // CHUNK).to_bytes(8, "big") * (CHUNK // 8)


async def main(role, relay, quic_port, alpn, *rest):
    if role in ("serve", "source"):
        await serve(await bind(relay, quic_port, alpn, *rest), echo if role == "serve" else source)
    else:
        node, *addresses = rest
        endpoint = await bind(relay, quic_port, alpn)
        await dial(endpoint, relay, alpn, node, addresses)
        await endpoint.close()


asyncio.run(main(*sys.argv[1:]))
