"""What lies between machines: switches, NAT routers, slow cables, and the faults of each.

The wiring is the same for every engine: pairs of virtual Ethernet devices between network namespaces, made from outside.
"""

import sys

from .command import LAB


# Of the blocks for documentation (RFC 5737): nothing here can be taken for a real host.
INTERNET = "198.51.100."


class Switch:
    """A machine with a bridge: whatever is plugged in hears one another, unless a rule cuts it."""

    def __init__(self, machine):
        self.machine = machine

    @classmethod
    async def make(cls, machine):
        await machine.network("ip", "link", "add", "switch", "type", "bridge")
        # A bridge that floods for its first seconds would be a fault that nobody asked for.
        await machine.network("ip", "link", "set", "switch", "type", "bridge", "stp_state", "0", "forward_delay", "0")
        await machine.network("ip", "link", "set", "switch", "up")
        await machine.network("nft", "-f", "-", stdin=BRIDGE_RULES)
        return cls(machine)

    async def plug(self, machine, address, gateway=None, mtu=None, interface=None, is_up=True):
        """Gives the machine an interface here. It is called `eth0`, `eth1`, … there, and by the machine's name here."""
        interface = interface or f"eth{machine.ports}"
        machine.ports += 1
        self.machine.ports += 1
        port = f"p{self.machine.ports}-{machine.name}"[:15]
        await connect(self.machine, port, machine, interface)
        await self.machine.network("ip", "link", "set", port, "master", "switch", "up")
        if mtu:
            await machine.network("ip", "link", "set", interface, "mtu", mtu)
        await machine.network("ip", "addr", "add", address, "dev", interface)
        if is_up:
            await machine.up(interface, gateway)
        return Port(self, port, interface)

    async def cut(self, rule):
        """Drops what matches without a word, as a broken network does: `ip saddr 192.0.2.1 udp length > 1200`."""
        await self.machine.network("nft", f"add rule bridge faults cut {rule} drop")

    async def mend(self):
        await self.machine.network("nft", "flush chain bridge faults cut")

    async def silence(self, one, other=None, protocol=None):
        """Drops all between two addresses, or of one, in both directions."""
        only = f"meta l4proto {protocol} " if protocol else ""
        for source, target in [(one, other), (other, one)]:
            words = [f"ip saddr {source}" if source else "", f"ip daddr {target}" if target else ""]
            await self.cut(only + " ".join(word for word in words if word))


BRIDGE_RULES = """
table bridge faults {
    chain cut { type filter hook forward priority 0; policy accept; }
}
"""


class Port:
    """One plug: `port` in the switch, `interface` in the machine."""

    def __init__(self, switch, port, interface):
        self.switch = switch
        self.port = port
        self.interface = interface

    async def pull(self):
        await self.switch.machine.network("ip", "link", "set", self.port, "down")

    async def insert(self):
        await self.switch.machine.network("ip", "link", "set", self.port, "up")


async def connect(one, one_interface, other, other_interface):
    await one.network(
        "ip", "link", "add", one_interface, "type", "veth", "peer", "name", other_interface, "netns", other.netns)


class Router:
    """A machine that forwards, hides what is behind it, and lets in only answers: of UDP another port for each destination, so
    dependent on address and port for both mapping and filtering (RFC 4787). Two homes behind such routers meet by a relay alone."""

    def __init__(self, machine, wan_address):
        self.machine = machine
        self.wan_address = wan_address

    @classmethod
    async def make(cls, machine, wan, wan_address, lan, lan_address):
        """`wan` and `lan` are switches; addresses are given with their prefix."""
        await machine.network("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        await wan.plug(machine, wan_address, interface="wan")
        await lan.plug(machine, lan_address, interface="lan")
        await machine.network("nft", "-f", "-", stdin=ROUTER_RULES)
        return cls(machine, wan_address.partition("/")[0])

    async def forward(self, protocol, port, to):
        """What a person sets up in the router's page: packets to this port go to `to`, IP:PORT."""
        await self.machine.network("nft", f"add rule ip nat in iifname wan {protocol} dport {port} dnat to {to}")
        await self.machine.network("nft", f"insert rule ip filter forward ct status dnat accept")


ROUTER_RULES = """
table ip nat {
    chain in { type nat hook prerouting priority -100; }
    chain out { type nat hook postrouting priority 100;
        oifname "wan" meta l4proto udp masquerade fully-random
        oifname "wan" masquerade
    }
}
table ip filter {
    chain forward {
        type filter hook forward priority 0; policy drop;
        iifname "lan" accept
        ct state established,related accept
    }
    chain input {
        type filter hook input priority 0; policy accept;
        iifname "wan" ct state new drop
    }
}
"""


class Cable:
    """A slow line in place of a plug: `eth0` of the machine, a program that holds each frame back, and a port of the switch."""

    @staticmethod
    async def lay(line, machine, switch, address, gateway=None, *, delay, bits_per_second):
        """`line` is a machine of its own for the program."""
        interface = f"eth{machine.ports}"
        machine.ports += 1
        switch.machine.ports += 1
        port = f"p{switch.machine.ports}-{machine.name}"[:15]
        await connect(line, "near", machine, interface)
        await connect(line, "far", switch.machine, port)
        await line.network("ip", "link", "set", "near", "up")
        await line.network("ip", "link", "set", "far", "up")
        await switch.machine.network("ip", "link", "set", port, "master", "switch", "up")
        for ends, name in [(machine, interface), (switch.machine, port), (line, "near"), (line, "far")]:
            await ends.network(sys.executable, LAB / "cable.py", "plain", name)
        await machine.network("ip", "addr", "add", address, "dev", interface)
        await machine.up(interface, gateway)
        program = await line.background(
            sys.executable, LAB / "cable.py", "carry", "near", "far", delay, bits_per_second)
        await program.line("the cable carries", lambda text: text == "carrying")


class Lab:
    """All that one scenario has made, removed at its end. Use as an async context manager."""

    def __init__(self, engine):
        self.engine = engine
        self.machines = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        self.said = [text for machine in self.machines for text in machine.logs()] if error else []
        for machine in reversed(self.machines):
            await machine.remove()
        if error and self.said:
            error.add_note("\n".join(self.said))

    async def machine(self, name, kind="mew"):
        machine = await self.engine.machine(name, kind)
        self.machines.append(machine)
        return machine

    async def switch(self, name):
        """Not a host: always a namespace, whatever the engine."""
        machine = await self.engine.fabric(name)
        self.machines.append(machine)
        return await Switch.make(machine)

    async def router(self, name, wan, wan_address, lan, lan_address):
        machine = await self.machine(name, "router")
        return await Router.make(machine, wan, wan_address, lan, lan_address)

    async def cable(self, machine, switch, address, gateway=None, **properties):
        line = await self.engine.fabric(f"line{len(self.machines)}")
        self.machines.append(line)
        await Cable.lay(line, machine, switch, address, gateway, **properties)
