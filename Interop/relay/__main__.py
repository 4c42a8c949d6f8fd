"""`python -m relay SCENARIO…`: exit status 0 when all passed, 1 when one failed, 2 for an unknown name."""

import asyncio
import importlib.metadata
import sys
import time
import traceback

from .scenarios import ALL

# No scenario takes a tenth of it; a hang must become a failure.
LIMIT_SECONDS = 120


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"unknown: {' '.join(unknown)}; there are: {' '.join(ALL)}", file=sys.stderr)
        return 2
    version = importlib.metadata.version("iroh")
    failed = 0
    for name in names or ALL:
        start = time.monotonic()
        try:
            asyncio.run(asyncio.wait_for(ALL[name](), LIMIT_SECONDS))
        except Exception:
            traceback.print_exc()
            failed += 1
            outcome = "failed"
        else:
            outcome = "passed"
        print(f"iroh {version}: {name} {outcome} ({time.monotonic() - start:.1f} s): {ALL[name].__doc__.split(chr(10))[0]}")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
