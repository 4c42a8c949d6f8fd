"""What `python -m connection`, `python -m phone` and `python -m relay` do with their scenarios."""

import asyncio
import importlib.metadata
import sys
import time
import traceback

# No scenario takes a tenth of it; a hang must become a failure.
LIMIT_SECONDS = 120


def play(scenarios: dict, names: list[str]) -> int:
    """Plays the named scenarios, or all: exit status 0 when all passed, 1 when one failed, 2 for an unknown name."""
    names = [name if name in scenarios else name.replace("-", "_") for name in names]
    unknown = [name for name in names if name not in scenarios]
    if unknown:
        print(f"unknown: {' '.join(unknown)}; there are: {' '.join(scenarios)}", file=sys.stderr)
        return 2
    version = importlib.metadata.version("iroh")
    failed = 0
    for name in names or scenarios:
        start = time.monotonic()
        try:
            asyncio.run(asyncio.wait_for(scenarios[name](), LIMIT_SECONDS))
        except Exception:
            traceback.print_exc()
            failed += 1
            outcome = "failed"
        else:
            outcome = "passed"
        law = scenarios[name].__doc__.split("\n")[0]
        print(f"iroh {version}: {name} {outcome} ({time.monotonic() - start:.1f} s): {law}")
    return 1 if failed else 0
