"""`mew relay` as a process, on loopback."""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import urllib.request

import iroh

from iroh_stream import Failure, step


class OurRelay:
    def __init__(self, process, ready):
        self.process = process
        self.address = ready["http"]
        self.url = ready["urls"][0]
        self.node_id = ready["node_id"]
        self.udp_port = int(ready["udp"].rsplit(":", 1)[1]) if ready["udp"] else None

    @classmethod
    async def start(cls, home, *options, http="127.0.0.1:0", udp="127.0.0.1:0"):
        process = await asyncio.create_subprocess_exec(
            os.environ["MEW"], "relay", "--home", home, "--json", "--log-level", "warning", "--http", http, "--udp", udp,
            *options, stdout=asyncio.subprocess.PIPE,
        )
        line = await step("our relay is ready", process.stdout.readline())
        if not line:
            raise Failure("our relay ended before it was ready")
        return cls(process, json.loads(line))

    def mode(self, token=None):
        """What an endpoint is configured with to use this relay."""
        relays = iroh.RelayMap.empty()
        relays.insert(iroh.RelayConfig(url=self.url, quic_port=self.udp_port, auth_token=token))
        return iroh.RelayMode.custom(relays)

    async def metrics(self):
        text = await asyncio.to_thread(self.get, "/metrics")
        pairs = (line.split() for line in text.splitlines() if not line.startswith("#"))
        return {name.removeprefix("mew_relay_"): int(value) for name, value in pairs}

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=5) as answer:
            return answer.read().decode()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory_kilobytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    async def stop(self):
        """SIGTERM: it says goodbye and ends with status 0."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return await step("our relay ends", self.process.wait())

    async def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@contextlib.asynccontextmanager
async def relay(*options, **where):
    with tempfile.TemporaryDirectory() as home:
        it = await OurRelay.start(home, *options, **where)
        try:
            yield it
        finally:
            await it.kill()
