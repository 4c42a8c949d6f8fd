"""The image of the Dockerfile, as a person would run it."""

import asyncio
import time

from ..catalogue import scenario
from ..command import command
from ..engines import TAG
from ..world import expect

NEEDS_CONTAINERS = {"namespaces": "there is no image without containers"}


@scenario("image", "mew", quick=True, unsupported=NEEDS_CONTAINERS)
async def image(lab):
    """The image runs a daemon and a relay as nobody special, both become healthy, and end with status 0 when they are told."""
    engine = lab.engine
    for role in (["daemon"], ["relay"]):
        name = f"{TAG}-image-{role[0]}"
        await command(engine.name, "run", "-d", "--name", name, *engine.options, "--network", "none", engine.images.tag("mew"), *role)
        try:
            await healthy(engine.name, name)
            user = await command(engine.name, "exec", name, "id", "-u")
            expect(user.strip() != "0", "it runs as root")
            await command(engine.name, "stop", "-t", "10", name)
            status = await command(engine.name, "inspect", "-f", "{{.State.ExitCode}}", name)
            expect(status.strip() == "0", f"mew {role[0]} ended with status {status.strip()}")
        finally:
            await command(engine.name, "rm", "-f", name)
    size = await command(engine.name, "image", "inspect", "-f", "{{.Size}}", engine.images.tag("mew"))
    return f"{int(size) >> 20} MiB"


async def healthy(engine, name, seconds=30):
    """The check of the image itself, run until it says yes: engines differ in when they run it by themselves."""
    end = time.monotonic() + seconds
    while True:
        process = await asyncio.create_subprocess_exec(
            engine, "exec", name, "mew-health", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
        if await process.wait() == 0:
            return
        expect(time.monotonic() < end, f"{name} is not healthy after {seconds} s")
        # Asked as an engine asks: the check says what is, and waits for nothing.
        await asyncio.sleep(0.5)
