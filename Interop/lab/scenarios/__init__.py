"""Every module here adds its scenarios to the catalogue, in the order in which they are played."""

from . import image, loopback, relayed, iroh, foreign, coturn, http3, faults, uplinks, matrix, mapping, report, punched  # noqa: F401
