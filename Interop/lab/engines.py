"""Where machines live: in network namespaces of this host, or in containers of podman or docker.

Both give a machine a network of its own with nothing in it but loopback; `network.py` does the wiring of either.
"""

import os
import shutil
import tempfile
from pathlib import Path

from .command import ROOT, CommandFailed, command, run, say, works
from .machine import Machine

# Names of ours begin so; another run beside this one has another number.
TAG = f"mew{os.getpid()}"
IROH_VERSIONS = [path.stem.removeprefix("requirements-") for path in sorted((ROOT / "Interop").glob("requirements-[0-9]*.txt"))]


async def bare_namespace(number, name):
    """A machine without programs of its own: switches and cables are no hosts, whatever the engine."""
    netns = f"{TAG}-{number}-{name}"
    await command("ip", "netns", "add", netns)

    async def remove():
        for pid in (await command("ip", "netns", "pids", netns)).split():
            works("kill", "-KILL", pid)
        await command("ip", "netns", "del", netns)

    return Machine(name, netns, f"/run/netns/{netns}", ["ip", "netns", "exec", netns], lambda word: [word], remove)


class Namespaces:
    """Programs of this host, each machine in a network namespace with a directory of its own."""

    name = "namespaces"

    def __init__(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="mew-interop-"))
        self.count = 0

    @staticmethod
    def works_here():
        name = f"{TAG}probe"
        found = os.geteuid() == 0 and works("ip", "netns", "add", name) and works("ip", "netns", "exec", name, "nft", "list", "tables")
        works("ip", "netns", "del", name)
        return found

    async def prepare(self, kinds):
        """Builds our programs unless they are named, and installs the foreign ones."""
        for kind in kinds:
            if version := kind.removeprefix("iroh-") if kind.startswith("iroh-") else None:
                run([ROOT / "Interop/python", version])
            elif kind == "aioquic":
                run([ROOT / "Interop/python", kind])
            elif kind == "coturn":
                run(["bash", "-c", ". Scripts/common.sh; need_packages coturn"])
            elif kind == "ngtcp2":
                run(["bash", "-c", ". Scripts/common.sh; need_ngtcp2_packages ngtcp2-client ngtcp2-server; need_packages openssl"])
        for variable, product in (("MEW", "mew"), ("MEW_INTEROP_NODE", "interop-node")):
            if variable not in os.environ:
                say(f"building {product}")
                run(["swift", "build", "-c", "release", "--product", product])
                where = run(["swift", "build", "-c", "release", "--show-bin-path"])
                os.environ[variable] = f"{where.strip()}/{product}"

    async def machine(self, name, kind):
        machine = await self.fabric(name)
        await machine.network("ip", "link", "set", "lo", "up")
        home = self.scratch / machine.netns
        home.mkdir()
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "MEW_HOME": home / "mew", "PYTHONPATH": ROOT / "Interop",
            "PYTHONDONTWRITEBYTECODE": "1", "MEW": os.environ.get("MEW", ""),
            "MEW_INTEROP_NODE": os.environ.get("MEW_INTEROP_NODE", ""),
        }
        assignments = (f"{name}={value}" for name, value in environment.items())
        machine.prefix += ["env", "-i", f"--chdir={home}", *assignments]
        machine.resolve = lambda word: self.resolve(word, kind)
        return machine

    async def fabric(self, name):
        self.count += 1
        return await bare_namespace(self.count, name)

    def resolve(self, word, kind):
        match word:
            case "mew": return [os.environ["MEW"]]
            case "interop-node": return [os.environ["MEW_INTEROP_NODE"]]
            case "python": return [str(ROOT / ".build/interop" / kind / "bin/python")]
            case "gtlsserver": return [shutil.which("gtlsserver", path=os.environ["PATH"] + ":/usr/sbin") or word]
            case _: return [word]

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)


class Containers:
    """Each machine a container; programs are those of its image."""

    # Where containers run inside another confinement, the engine's own defaults are refused.
    CONFINED = {
        "podman": ["--runtime", "runc", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"],
        "docker": [],
    }

    def __init__(self, engine):
        from .images import Images

        self.name = engine
        self.images = Images(engine)
        self.options = []
        self.count = 0

    @staticmethod
    def works_here(engine):
        """Whether the engine answers; whether it can run something shows with the first image."""
        return os.geteuid() == 0 and bool(shutil.which(engine)) and works(engine, "info")

    async def prepare(self, kinds):
        base = self.images.base()
        for options in ([], self.CONFINED[self.name]):
            if works(self.name, "run", "--rm", "--network", "none", *options, base, "true"):
                self.options = options
                break
        else:
            raise Unsupported(f"{self.name} cannot run a container here")
        for kind in kinds:
            self.images.build(kind)

    async def machine(self, name, kind):
        self.count += 1
        container = f"{TAG}-{self.count}-{name}"
        await command(
            self.name, "run", "-d", "--name", container, "--hostname", name, "--network", "none", "--stop-signal", "SIGKILL",
            *self.options, "--entrypoint", "sleep", self.images.tag(kind), "infinity")
        pid = (await command(self.name, "inspect", "-f", "{{.State.Pid}}", container)).strip()
        prefix = [self.name, "exec", "-i", container]
        return Machine(name, pid, f"/proc/{pid}/ns/net", prefix, self.resolve, lambda: self.remove(container))

    async def fabric(self, name):
        self.count += 1
        return await bare_namespace(self.count, name)

    def resolve(self, word):
        return ["/opt/iroh/bin/python"] if word == "python" else [word]

    async def remove(self, container):
        await command(self.name, "rm", "-f", container)

    def close(self):
        pass


class Unsupported(CommandFailed):
    """This machine cannot do it."""


def choose(wanted):
    """The engine of that name, or the first that works here: containers, then namespaces."""
    candidates = {
        "podman": lambda: Containers.works_here("podman") and Containers("podman"),
        "docker": lambda: Containers.works_here("docker") and Containers("docker"),
        "namespaces": lambda: Namespaces.works_here() and Namespaces(),
    }
    for name in [wanted] if wanted else candidates:
        if engine := candidates[name]():
            return engine
    what = wanted or "none of podman, docker and network namespaces"
    why = "it does not answer" if os.geteuid() == 0 else "root is needed"
    raise Unsupported(f"{what} cannot be used here: {why}")
