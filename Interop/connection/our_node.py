"""`interop-node`, our half of the connection-level scenarios, as a process."""

import asyncio
import contextlib
import json
import os
import signal

from iroh_stream import Failure, step


class OurNode:
    """A process of ours; each line it prints is an event."""

    def __init__(self, process):
        self.process = process

    @classmethod
    async def start(cls, *arguments):
        return cls(
            await asyncio.create_subprocess_exec(
                os.environ["MEW_INTEROP_NODE"], *arguments, stdout=asyncio.subprocess.PIPE)
        )

    FAILURES = ("failed", "broken", "dial_failed", "wrong_echo", "no_end")

    async def event(self, name, failures=FAILURES):
        """The next event of that name; others in between are passed over, a failure is not."""
        while True:
            line = await step(f'our node says "{name}"', self.process.stdout.readline())
            if not line:
                raise Failure(f'our node ended before it said "{name}"')
            event = json.loads(line)
            if event["event"] == name:
                return event
            if event["event"] in failures:
                raise Failure(f"our node: {event}")

    async def result(self):
        return await step("our node ends", self.process.wait())

    async def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@contextlib.asynccontextmanager
async def listening(*options):
    node = await OurNode.start("listen", *options)
    try:
        ready = await node.event("ready")
        yield node, ready["node_id"], ready["address"]
    finally:
        await node.kill()
