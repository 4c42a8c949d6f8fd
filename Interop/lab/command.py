"""Commands on this host, waited for."""

import asyncio
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "Interop/lab"


class CommandFailed(Exception):
    """A command of the laboratory itself failed: no scenario can be judged by it."""


async def command(*words, stdin=None, seconds=60):
    """What it says on standard output; raises when it fails."""
    words = [str(word) for word in words]
    process = await asyncio.create_subprocess_exec(
        *words, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    try:
        output, errors = await asyncio.wait_for(process.communicate(stdin.encode() if stdin is not None else None), seconds)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        raise CommandFailed(f"{' '.join(words)[:200]}: not ended after {seconds} s") from None
    if process.returncode != 0:
        raise CommandFailed(f"{' '.join(words)[:200]}: exit status {process.returncode}: {errors.decode(errors='replace')[-600:]}")
    return output.decode(errors="replace")


def works(*words, seconds=60):
    """Whether a command can be run here at all."""
    try:
        return subprocess.run(
            [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=seconds).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def run(words):
    """A long command before the scenarios, at the root of the repository; its output is shown only when it fails, and ends all."""
    words = [str(word) for word in words]
    done = subprocess.run(
        words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        raise CommandFailed(f"{' '.join(words)[:300]}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def say(text):
    print(text, flush=True)
