"""What a real iroh endpoint and a node of ours must be able to do with each other, below the session protocol. Each function is
one scenario; its first line says what it shows."""

import contextlib

import iroh

from iroh_stream import NATIVE, STOCK, Failure, StockStream, address, endpoint, step

from .our_node import OurNode, listening

ECHO_SIZES = [1, 125, 126, 65_535, 65_536, 1_000_000]


@contextlib.asynccontextmanager
async def iroh_endpoint(alpns=None):
    it = await endpoint(alpns)
    try:
        yield it
    finally:
        await it.close()


def text_of(size):
    return "".join(chr(0x20 + index % 90) for index in range(size))


def expect(holds, what):
    if not holds:
        raise Failure(what)


async def expect_failure(what, awaitable):
    """Awaits a call that must fail, and returns what iroh said."""
    try:
        await step(what, awaitable)
    except iroh.IrohError as error:
        return error.message()
    raise Failure(f"it worked, and must not: {what}")


async def dialled_echo():
    """Real iroh dials us as the phone does: upgrade, text of every length form, fragments, ping, close."""
    async with listening() as (node, node_id, where), iroh_endpoint() as phone:
        connection = await step("dial us", phone.connect(address(node_id, where), STOCK))
        expect(str(connection.remote_id()) == node_id, "iroh sees another node ID than ours")
        link = await node.event("link")
        expect(link["peer"] == str(phone.id()), "we see another node ID than iroh's")
        expect(link["alpn"] == "mew/wire/0", "another protocol was agreed on")
        stream = await StockStream.dial(connection)
        for size in ECHO_SIZES:
            await stream.send(text_of(size))
            expect(await stream.receive() == text_of(size), f"{size} bytes came back changed")
        await stream.send_in_fragments(["Hel", "", "lo"])
        await stream.ping(b"are you there")
        expect(await stream.receive() == "Hello", "fragments came back changed")
        await stream.close()
        ended = await node.event("ended")
        expect(ended["messages"] == len(ECHO_SIZES) + 1, f"we counted {ended['messages']} messages")
        connection.close(0, b"done")
        closed = await node.event("closed")
        expect("done" in closed["how"], f"we saw another end: {closed['how']}")


async def dialling_echo():
    """We dial real iroh, which speaks only the stock protocol, and get our texts back from it."""
    async with iroh_endpoint([STOCK]) as daemon:
        node = await OurNode.start("dial", str(daemon.id()), daemon.bound_sockets()[0])
        try:
            incoming = await step("our dial arrives", daemon.accept_next())
            accepting = await incoming.accept()
            connection = await step("our handshake", accepting.connect())
            stream = await StockStream.accept(connection)
            messages = 0
            while (message := await stream.receive()) is not None:
                await stream.send(message)
                messages += 1
            expect(messages == len(ECHO_SIZES), f"iroh counted {messages} messages")
            await node.event("echoed")
            expect(await node.result() == 0, "our node was not content")
        finally:
            await node.kill()


async def unauthorized():
    """We close a peer that we do not know with code 1 and the reason, before any stream."""
    async with listening("--refuse") as (node, node_id, where), iroh_endpoint() as phone:
        connection = await step("dial us", phone.connect(address(node_id, where), STOCK))
        said = await step("we close", connection.closed())
        expect("unauthorized" in said and "1" in said, f"iroh saw another end: {said}")


async def wrong_key_dialled():
    """Real iroh refuses us when it dialled another node ID at our address."""
    async with listening() as (node, _, where), iroh_endpoint() as phone:
        other = iroh.SecretKey.generate().public()
        await expect_failure("dial another node ID", phone.connect(address(str(other), where), STOCK))


async def wrong_key_dialling():
    """We refuse real iroh when we dialled another node ID at its address."""
    async with iroh_endpoint([STOCK]) as daemon:
        other = iroh.SecretKey.generate().public()
        node = await OurNode.start("dial", str(other), daemon.bound_sockets()[0])
        try:
            incoming = await step("our dial arrives", daemon.accept_next())
            accepting = await incoming.accept()
            await expect_failure("our handshake", accepting.connect())
            failed = await node.event("dial_failed", failures=())
            expect("wrongNode" in failed["reason"], f"we took it for something else: {failed['reason']}")
            expect(await node.result() == 1, "our node was content")
        finally:
            await node.kill()


async def other_protocol():
    """We refuse a protocol we do not speak; both of ours are taken from the same iroh endpoint."""
    async with listening() as (node, node_id, where), iroh_endpoint() as phone:
        said = await expect_failure(
            "dial with another protocol", phone.connect(address(node_id, where), b"other/0")
        )
        expect(said, "iroh says nothing of it")
        for protocol in (NATIVE, STOCK):
            connection = await step("dial us", phone.connect(address(node_id, where), protocol))
            link = await node.event("link")
            expect(link["alpn"] == protocol.decode(), "another protocol was agreed on")
            connection.close(0, b"done")


async def native_echo():
    """Length-prefixed messages on the native protocol, written and read by hand on the iroh side."""
    async with listening() as (node, node_id, where), iroh_endpoint() as peer:
        connection = await step("dial us", peer.connect(address(node_id, where), NATIVE))
        stream = await step("open a stream", connection.open_bi())
        send, receive = stream.send(), stream.recv()
        for size in (1, 1_000, 300_000):
            body = text_of(size).encode()
            await step("write", send.write_all(len(body).to_bytes(4, "big") + body))
            length = int.from_bytes(await step("read a length", receive.read_exact(4)), "big")
            expect(length == size, f"a length of {length} instead of {size}")
            expect(await step("read", receive.read_exact(length)) == body, f"{size} bytes came back changed")
        await step("write a frame of length zero", send.write_all(bytes(4)))
        code = await step("our reset", receive.received_reset())
        expect(code == 0x103, f"the stream was reset with {code} instead of 0x103")


async def restart():
    """Our node is killed and comes back with its key and port: real iroh learns it by a stateless reset, not by waiting."""
    async with listening("--seed", "7") as (node, node_id, where), iroh_endpoint() as phone:
        connection = await step("dial us", phone.connect(address(node_id, where), STOCK))
        stream = await StockStream.dial(connection)
        await stream.send("before")
        expect(await stream.receive() == "before", "no echo before the restart")
        await node.kill()
        async with listening("--seed", "7", "--bind", where) as (_, again, _):
            expect(again == node_id, "another node ID after the restart")
            with contextlib.suppress(iroh.IrohError):
                await stream.send("after")
            # The idle time-out would take 30 s; the step gives up before.
            said = await step("iroh notices the restart", connection.closed())
            expect("reset" in said, f"iroh saw another end: {said}")
            fresh = await step("dial us again", phone.connect(address(node_id, where), STOCK))
            other = await StockStream.dial(fresh)
            await other.send("again")
            expect(await other.receive() == "again", "no echo after the restart")


ALL = {
    function.__name__.replace("_", "-"): function
    for function in (
        dialled_echo, dialling_echo, unauthorized, wrong_key_dialled, wrong_key_dialling,
        other_protocol, native_echo, restart,
    )
}
