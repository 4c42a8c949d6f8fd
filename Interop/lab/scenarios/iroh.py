"""Real iroh endpoints on machines of their own, with each other and with us, through our relay."""

import json
import sys
import time

from ..catalogue import scenario
from ..command import LAB
from ..engines import IROH_VERSIONS
from ..network import INTERNET
from ..nodes import DISCOVERY_PORT, RELAY_PORT
from ..process import Failure
from ..world import World, expect

NATIVE = "mew/wire/1"
# Issue 3. An endpoint that gets no answer to its probe of address discovery waits 3 s.
ONLINE_SECONDS = 0.5
# What a client of a relay waits for a pong at least (spec/iroh-wire.md §4.5).
PONG_MILLISECONDS = 500
MIGRATION_BYTES = 32 << 20
LINE_BITS_PER_SECOND = 1_000_000


async def iroh(machine, relay, role, *rest, alpn=NATIVE):
    """The program, and its event `online`."""
    process = await machine.start(
        "python", "-m", "iroh_endpoint", role, relay.url if relay else "-", DISCOVERY_PORT, alpn, *rest)
    return process, await process.event("online")


def each_version(name, quick=False, peers="mew ↔ iroh", **options):
    """One scenario for each pinned version; the quick set has the newest."""

    def add(play):
        for version in IROH_VERSIONS:

            async def one(lab, version=version):
                return await play(lab, f"iroh-{version}")

            one.__doc__ = play.__doc__
            kinds = ["mew", f"iroh-{version}"]
            is_quick = quick and version == IROH_VERSIONS[-1]
            scenario(f"{name}@{version}", f"{peers} {version}", kinds, is_quick, **options)(one)
        return play

    return add


@each_version("iroh-pair", quick=True, peers="iroh ↔ mew relay ↔ iroh")
async def iroh_pair(lab, kind):
    """Two endpoints behind two NATs are online on our relay in under 0.5 s and connect, knowing nothing else."""
    world = await World.make(lab)
    relay = world.relays[0]
    machines = [await lab.machine(name, kind) for name in ("server", "client")]
    for number, machine in enumerate(machines):
        await world.behind_router(machine, number + 1)
    _, server = await iroh(machines[0], relay, "serve")
    client, online = await iroh(machines[1], relay, "dial", server["id"])
    connected = await client.event("connected")
    await client.write("echo 1000000")
    await client.event("echoed")
    counted = await relay.metrics()
    expect(counted["violations_total"] == 0, "iroh broke the protocol as we understand it")
    slowest = max(server["seconds"], online["seconds"])
    expect(slowest < ONLINE_SECONDS, f"online only after {slowest} s")
    return f"online after {server['seconds']} and {online['seconds']} s, connected after {connected['seconds']} s"


@each_version("iroh-dials-us", quick=True)
async def iroh_dials_us(lab, kind):
    """An endpoint behind a NAT reaches our node behind another through our relay, and the bytes come back."""
    world = await World.make(lab)
    relay = world.relays[0]
    ours, theirs = await lab.machine("ours"), await lab.machine("theirs", kind)
    await world.behind_router(ours, 1)
    await world.behind_router(theirs, 2)
    node = await ours.start("interop-node", "listen", "--bind", "0.0.0.0:4433", "--relay", relay.url)
    ready = await node.event("ready")
    client, _ = await iroh(theirs, relay, "dial", ready["node_id"])
    connected = await client.event("connected")
    await node.event("link")
    return f"connected after {connected['seconds']} s"


@each_version("we-dial-iroh", quick=True)
async def we_dial_iroh(lab, kind):
    """Our node behind a NAT reaches an endpoint behind another through our relay: 4 MiB come back."""
    world = await World.make(lab)
    relay = world.relays[0]
    ours, theirs = await lab.machine("ours"), await lab.machine("theirs", kind)
    await world.behind_router(ours, 1)
    await world.behind_router(theirs, 2)
    _, server = await iroh(theirs, relay, "serve")
    start = time.monotonic()
    node = await ours.start("interop-node", "hold", server["id"], "--relay", relay.url, "--bytes", 4 << 20, "--ways", "relay")
    await node.event("held", seconds=60)
    await node.succeeded()
    return f"4 MiB both ways in {time.monotonic() - start:.1f} s"


@each_version("iroh-migration", quick=True, limit_seconds=200)
async def iroh_migration(lab, kind):
    """Our node holds one connection to an endpoint from relay to direct and back under 32 MiB both ways."""
    world = await World.make(lab)
    relay = world.relays[0]
    ours, theirs = await lab.machine("ours"), await lab.machine("theirs", kind)
    await world.behind_router(ours, 2)
    _, address = await world.public(theirs)
    _, server = await iroh(theirs, relay, "serve", f"{address}:4433")
    await world.internet.silence(f"{INTERNET}22", address, "udp")
    node = await ours.start(
        "interop-node", "hold", server["id"], "--relay", relay.url, "--addr", f"{address}:4433", "--bytes", MIGRATION_BYTES,
        "--ways", "relay,direct,relay")
    await way(node, "relay")
    await world.internet.mend()
    mended = time.monotonic()
    await way(node, "direct")
    direct = time.monotonic() - mended
    await world.internet.silence(f"{INTERNET}22", address, "udp")
    silenced = time.monotonic()
    await way(node, "relay")
    back = time.monotonic() - silenced
    held = await node.event("held", seconds=100)
    await node.succeeded()
    return f"{held['bytes'] >> 20} MiB, direct {direct:.1f} s after it was possible, back on the relay after {back:.1f} s"


async def way(node, wanted):
    while True:
        _, text = await node.line(f"the way is {wanted}", lambda text: '"event"' in text, 45)
        event = json.loads(text)
        if event["event"] == "path" and event["path"] == wanted:
            return
        if event["event"] != "path":
            raise Failure(f"{node}: {text}")


@each_version("iroh-slow-link", peers="iroh ↔ mew relay ↔ iroh", limit_seconds=450)
async def iroh_slow_link(lab, kind):
    """An endpoint on a line of 1 Mbit/s and 40 ms keeps its relay link for 5 minutes under a bulk transfer."""
    return await slow_link(lab, kind, 300)


@each_version("iroh-slow-link-short", quick=True, peers="iroh ↔ mew relay ↔ iroh")
async def iroh_slow_link_short(lab, kind):
    """The same for 40 s."""
    return await slow_link(lab, kind, 40)


async def watch_pongs(machine):
    pongs = await machine.background(sys.executable, LAB / "pongs.py", "eth0", RELAY_PORT)
    await pongs.line("pongs are watched", lambda text: text == "watching")
    return pongs


def milliseconds(pongs):
    return [int(text) for _, text in pongs.lines if text.isdigit()]


async def slow_link(lab, kind, seconds):
    world = await World.make(lab)
    relay = world.relays[0]
    server_machine, client_machine = await lab.machine("fast", kind), await lab.machine("slow", kind)
    await world.public(server_machine, 31)
    await lab.cable(client_machine, world.internet, f"{INTERNET}32/24", delay=0.02, bits_per_second=LINE_BITS_PER_SECOND)
    await world.internet.silence(f"{INTERNET}31", f"{INTERNET}32", "udp")
    _, server = await iroh(server_machine, relay, "source")
    pongs = await watch_pongs(client_machine)
    client, _ = await iroh(client_machine, relay, "dial", server["id"])
    await client.event("connected")
    before = await relay.metrics()
    # As fast as it goes: the line is full the whole time.
    await client.write(f"pull {seconds}")
    pulled = await client.event("pulled", seconds=seconds + 60)
    after = await relay.metrics()
    waits = milliseconds(pongs)
    print(f"  pongs after {waits} ms", flush=True)
    for name in ("clients_admitted_total", "clients_silent_total", "clients_stalled_total", "violations_total"):
        expect(after[name] == before[name], f"{name}: {after[name] - before[name]} more")
    expect(after["nodes"] == 2, f"{after['nodes']} nodes are on the relay")
    # Real iroh asks only when it has heard nothing for 15 s: `slow-link-pongs` asks all the time.
    expect(max(waits, default=0) < PONG_MILLISECONDS, f"a pong took {max(waits, default=0)} ms")
    return f"{pulled['bytes'] // 1000} kB, {len(waits)} pongs, the slowest after {max(waits, default=0)} ms"


@scenario("slow-link-pongs", "mew relay ↔ mew leg", quick=True)
async def slow_link_pongs(lab):
    """A relay that is flooded for a client on a line of 1 Mbit/s and 40 ms still answers each of its pings within 500 ms."""
    seconds = 30
    world = await World.make(lab)
    relay = world.relays[0]
    fast, slow = await lab.machine("fast"), await lab.machine("slow")
    await world.public(fast, 31)
    await lab.cable(slow, world.internet, f"{INTERNET}32/24", delay=0.02, bits_per_second=LINE_BITS_PER_SECOND)
    pongs = await watch_pongs(slow)
    sink = await slow.start("interop-node", "sink", relay.url, seconds)
    ready = await sink.event("ready")
    await fast.start("interop-node", "source", relay.url, seconds, ready["node_id"])
    kept = await sink.event("kept", seconds=seconds + 30)
    await sink.succeeded()
    waits = milliseconds(pongs)
    expect(kept["bytes"] * 8 > seconds * LINE_BITS_PER_SECOND * 0.7, f"the line was not full: {kept['bytes']} bytes")
    print(f"  pongs after {waits} ms", flush=True)
    expect(len(waits) > seconds, f"only {len(waits)} pongs")
    expect(max(waits) < PONG_MILLISECONDS, f"a pong took {max(waits)} ms")
    return f"{kept['bytes'] // 1000} kB, {len(waits)} pongs, median {sorted(waits)[len(waits) // 2]} ms, slowest {max(waits)} ms"
