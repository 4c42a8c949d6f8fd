"""`python -m lab`: plays scenarios and ends in a table. See `Interop/run --help` and the README."""

import argparse
import asyncio
import json
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path

from . import scenarios  # noqa: F401
from .catalogue import ALL
from .command import ROOT, CommandFailed
from .engines import Unsupported, choose
from .network import Lab
from .process import Failure


@dataclass
class Result:
    scenario: str
    peers: str
    # `passed`, `failed` or `unsupported`.
    result: str
    seconds: float
    note: str


def arguments():
    parser = argparse.ArgumentParser(
        prog="Interop/run", description="Plays scenarios between real programs on machines of their own, and ends in a table.",
        epilog="Exit status: 0 all passed, 1 one failed, 2 bad arguments, 77 this machine cannot play them.")
    parser.add_argument("scenario", nargs="*", default=["all"], help="names or patterns; 'quick' and 'all' (default) are sets")
    parser.add_argument("--list", action="store_true", help="name the scenarios and what each shows")
    parser.add_argument(
        "--engine", choices=["podman", "docker", "namespaces"],
        help="where machines live (default: containers where they can be had, network namespaces otherwise)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="play each scenario so often")
    parser.add_argument("--json", type=Path, default=ROOT / ".build/interop/results.json", metavar="FILE", help="the table for programs")
    return parser.parse_args()


def chosen(words):
    """In the order of the catalogue; exits for a word that names nothing."""
    names = set()
    for word in words:
        found = {
            name for name, it in ALL.items()
            if word == "all" or (word == "quick" and it.quick) or name == word or fnmatch(name, word) or name.startswith(word + "/")
        }
        if not found:
            print(f"no scenario '{word}'; Interop/run --list names them", file=sys.stderr)
            sys.exit(2)
        names |= found
    return [it for name, it in ALL.items() if name in names]


async def play(engine, it):
    start = time.monotonic()
    try:
        async with Lab(engine) as lab:
            note = await asyncio.wait_for(it.play(lab), it.limit_seconds)
        result = "passed"
    except TimeoutError:
        result, note = "failed", f"not over after {it.limit_seconds} s"
    except Failure as error:
        print("\n".join([f"--- {it.name}: {error}", *getattr(error, "__notes__", [])]), flush=True)
        result, note = "failed", str(error).splitlines()[0]
    except Exception as error:
        # Not the peers' fault but ours: where it happened matters.
        traceback.print_exc()
        result, note = "failed", f"{type(error).__name__}: {error}".splitlines()[0]
    return Result(it.name, it.peers, result, round(time.monotonic() - start, 1), (note or "")[:120])


def table(results):
    rows = [("scenario", "peers", "result", "time", "note")]
    rows += [(it.scenario, it.peers, it.result, f"{it.seconds:.1f} s", it.note) for it in results]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join("  ".join([*(row[i].ljust(widths[i]) for i in range(4)), row[4]]).rstrip() for row in rows)


async def play_all(engine, todo, repeat):
    # Told to end, it takes down what it has built first.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    kinds = {kind for it in todo if engine.name not in it.unsupported for kind in it.kinds}
    await engine.prepare(sorted(kinds))
    results = []
    for it in todo:
        for _ in range(repeat):
            if reason := it.unsupported.get(engine.name):
                result = Result(it.name, it.peers, "unsupported", 0.0, reason)
            else:
                result = await play(engine, it)
            results.append(result)
            print(f"{result.scenario}: {result.result} ({result.seconds:.1f} s) {result.note}", flush=True)
    return results


def main():
    options = arguments()
    todo = chosen(options.scenario)
    if options.list:
        for it in todo:
            print(f"{it.name:28} {'quick' if it.quick else '     '}  {it.law}")
        return 0
    try:
        engine = choose(options.engine)
    except Unsupported as reason:
        print(reason, file=sys.stderr)
        return 77
    print(f"machines are {engine.name}", flush=True)
    try:
        results = asyncio.run(play_all(engine, todo, options.repeat))
    except (asyncio.CancelledError, KeyboardInterrupt):
        return 1
    except CommandFailed as error:
        print(error, file=sys.stderr)
        return 77 if isinstance(error, Unsupported) else 1
    finally:
        engine.close()
    print("\n" + table(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([asdict(it) for it in results], indent=1) + "\n")
    # What cannot be played is listed with its reason by the scenario itself; anything else that is not passed is a failure.
    return 1 if any(it.result == "failed" for it in results) else 0


sys.exit(main())
