"""`python -m relay SCENARIO…`; without names, all of them."""

import sys

from play import play

from .scenarios import ALL

sys.exit(play(ALL, sys.argv[1:]))
