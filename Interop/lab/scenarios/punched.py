"""Direct links that routers make hard: two machines in one house, and a house whose router has forgotten everything."""

import asyncio
import time

from ..catalogue import scenario
from ..nat import Internet, Net
from ..nodes import Daemon, Laptop, Relay
from ..world import World, expect, path

DIRECT_SECONDS = 10
DATA_SECONDS = 10


@scenario("one-router", "mew ↔ mew", quick=True)
async def one_router(lab):
    """A daemon and a laptop behind one strict router that sends nothing back (no hairpin): direct inside the house."""
    world = await World.make(lab)
    machine, laptop = await lab.machine("desk"), await lab.machine("laptop")
    home = await lab.switch("home1")
    await lab.router("router1", world.internet, "198.51.100.21/24", home, "10.1.0.1/24")
    await home.plug(machine, "10.1.0.2/24", "10.1.0.1")
    await home.plug(laptop, "10.1.0.3/24", "10.1.0.1")
    daemon = await Daemon.start(machine, *world.relays)
    laptop = Laptop(laptop)
    await laptop.pair(daemon)
    ticker = await laptop.ticking(daemon)
    link = await path(daemon, "direct", seconds=DIRECT_SECONDS)
    seconds = time.time() - ticker.process.started
    expect(link["addr"].startswith("10.1.0.3:"), f"it left the house: {link}")
    await ticker.cancel()
    return f"direct after {seconds:.1f} s"


async def forget(router):
    """No mapping of UDP lives longer than a second now; after two there is none."""
    timeouts = ("net.netfilter.nf_conntrack_udp_timeout", "net.netfilter.nf_conntrack_udp_timeout_stream")
    for name, seconds in zip(timeouts, (1, 1)):
        await router.network("sysctl", "-q", "-w", f"{name}={seconds}")
    await asyncio.sleep(3)
    for name, seconds in zip(timeouts, (30, 120)):
        await router.network("sysctl", "-q", "-w", f"{name}={seconds}")


@scenario("suspended", "mew ↔ mew", limit_seconds=200)
async def suspended(lab):
    """A laptop that was suspended for 20 s, and both routers have forgotten the mappings: data within 10 s, direct in 60."""
    internet = await Internet.make(lab, "ipv4")
    machine = await lab.machine("relay")
    relay = await Relay.start(machine, await internet.public(machine, 10))
    machines, routers = [], []
    for number, name in enumerate(("desk", "laptop"), start=1):
        machine = await lab.machine(name)
        home = Net(await lab.switch(f"home{number}"), f"10.{number}.0.", f"2001:db8:{number}:2::")
        await internet.behind(internet.net, 1, f"router{number}", 20 + number, "moderate", home, f"2001:db8:{number}:2::/64")
        routers.append(internet.routers[home.six])
        await home.plug(machine, 2, "ipv4")
        await home.default(machine, 1, "ipv4")
        machines.append(machine)
    daemon = await Daemon.start(machines[0], relay)
    laptop = Laptop(machines[1])
    await laptop.pair(daemon)
    ticker = await laptop.ticking(daemon)
    await path(daemon, "direct", seconds=DIRECT_SECONDS)
    connections = daemon.connections()
    await ticker.until(time.time())
    stopped, before = time.time(), ticker.seen
    await ticker.process.signal("STOP")
    await asyncio.sleep(17)
    await asyncio.gather(*map(forget, routers))
    woken = time.time()
    await ticker.process.signal("CONT")
    # Ten come a second; what was said meanwhile comes first.
    data = 0.0
    while ticker.seen - before < (woken + data - stopped) * 8:
        data = await ticker.next() - woken
    expect(data <= DATA_SECONDS, f"it had caught up only {data:.1f} s after it woke")
    expect(daemon.connections() == connections, "the laptop had to connect anew")
    await path(daemon, "direct", seconds=60)
    seconds = time.time() - woken
    await ticker.cancel()
    return f"data after {data:.1f} s, direct after {seconds:.1f} s"
