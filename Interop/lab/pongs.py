"""How long a relay's answers to a client's pings take, read from the client's own interface; the relay is without TLS.

    pongs.py INTERFACE PORT      one line a pong: milliseconds

A client's frame is a masked WebSocket message of 9 bytes, the relay's answer holds the same 8 bytes unmasked.
"""

import re
import socket
import sys
import time

# All protocols: a socket for one of them would hear only what comes in.
ETH_P_ALL = 3
# The frame types of the relay protocol.
PING, PONG = 9, 10
MASKED = re.compile(rb"\x82\x89(....)(.{9})", re.DOTALL)
# Pings that nobody answered are few; more than these are no pings.
MAX_WAITING = 64


def payload(frame):
    """Source port, destination port, and what TCP carries; None for anything else."""
    if len(frame) < 34:
        return None
    header = 14 + (frame[14] & 15) * 4
    if len(frame) < header + 20 or frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_TCP:
        return None
    end = 14 + int.from_bytes(frame[16:18], "big")
    start = header + (frame[header + 12] >> 4) * 4
    return int.from_bytes(frame[header : header + 2], "big"), int.from_bytes(frame[header + 2 : header + 4], "big"), frame[start:end]


def watch(interface, port):
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    listener.bind((interface, ETH_P_ALL))
    asked, tail = {}, b""
    print("watching", flush=True)
    while True:
        found = payload(listener.recv(65536))
        if not found:
            continue
        source, target, data = found
        if target == port:
            for mask, masked in MASKED.findall(data):
                plain = bytes(byte ^ mask[index % 4] for index, byte in enumerate(masked))
                if plain[0] == PING and len(asked) < MAX_WAITING:
                    asked.setdefault(plain[1:], time.monotonic())
        elif source == port:
            seen, tail = tail + data, data[-8:]
            for ping in [ping for ping in asked if bytes([PONG]) + ping in seen]:
                print(f"{(time.monotonic() - asked.pop(ping)) * 1000:.0f}", flush=True)


watch(sys.argv[1], int(sys.argv[2]))
