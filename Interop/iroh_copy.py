"""Importing this replaces a loop of iroh's Python binding over single bytes by one copy. A megabyte would take seconds on a busy
machine, and that loop would be all that is seen of the network."""

import ctypes

from iroh import iroh_ffi


def write_at_once(self, value):
    size = len(value)
    with self._reserve(size):
        ctypes.memmove(ctypes.addressof(self.rbuf.data.contents) + self.rbuf.len, bytes(value), size)


iroh_ffi._UniffiRustBufferBuilder.write = write_at_once
