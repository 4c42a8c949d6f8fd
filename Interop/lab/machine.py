"""A machine: something with a network of its own in which programs run. The engines make them (`engines.py`)."""

from .command import command
from .process import Process


class Machine:
    """`netns` is what `ip` calls its network: the name of a namespace, or the number of a process in it."""

    def __init__(self, name, netns, netns_path, prefix, resolve, remove):
        self.name = name
        self.netns = netns
        self.ports = 0
        self._enter = ["nsenter", f"--net={netns_path}"]
        # Before the words of a program, to run it here; and what its first word stands for.
        self.prefix = prefix
        self.resolve = resolve
        self._remove = remove
        self._processes = []

    # Programs

    async def start(self, *words):
        """`mew`, `python`, `interop-node` and so on stand for what the engine has under these names."""
        first, *rest = [str(word) for word in words]
        process = await Process.start(self, self.prefix, [*self.resolve(first), *rest])
        self._processes.append(process)
        return process

    async def run(self, *words, seconds=30):
        """Runs a program to its end, which must be success; its lines."""
        return await (await self.start(*words)).succeeded(seconds)

    # Its network, set from outside as by whoever installed it

    async def network(self, *words, stdin=None):
        return await command(*self._enter, *words, stdin=stdin)

    async def background(self, *words):
        """A program of this host inside the machine's network, such as a cable."""
        process = await Process.start(self, self._enter, [str(word) for word in words])
        self._processes.append(process)
        return process

    async def address(self, interface, address, gateway=None):
        await self.network("ip", "addr", "add", address, "dev", interface)
        await self.network("ip", "link", "set", interface, "up")
        if gateway:
            await self.route(gateway)

    async def route(self, gateway, metric=100):
        await self.network("ip", "route", "replace", "default", "via", gateway, "metric", metric)

    async def up(self, interface, gateway=None, metric=100):
        await self.network("ip", "link", "set", interface, "up")
        if gateway:
            await self.route(gateway, metric)

    async def down(self, interface):
        """As when the plug is pulled or the radio is switched off: the kernel takes the routes away as well."""
        await self.network("ip", "link", "set", interface, "down")

    async def remove(self):
        # Ends its programs as well.
        await self._remove()
        for process in self._processes:
            await process.wait()

    def logs(self):
        """The last words of every program, for a failure."""
        return [f"--- {process}\n{process.tail()}" for process in self._processes if process.errors]
