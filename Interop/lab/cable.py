"""A slow line between two interfaces, frame by frame, in both directions (this kernel may have no netem).

    cable.py plain INTERFACE                    switches off what makes frames larger or less complete than on a wire
    cable.py carry NEAR FAR SECONDS BITS-PER-SECOND [LOSS]

What would wait longer than 100 ms for its turn is dropped, as by a router whose owner also makes calls. LOSS is the share of frames
that is lost besides, the same ones at each run.
"""

import array
import fcntl
import heapq
import random
import selectors
import socket
import struct
import sys
import time

SIOCETHTOOL = 0x8946
# Transmit checksums, scatter/gather, TCP segmentation, generic segmentation, generic receive offload (linux/ethtool.h).
OFFLOADS = [0x17, 0x19, 0x1F, 0x24, 0x2C]
LONGEST_WAIT_SECONDS = 0.1
ETH_P_ALL = 3
PACKET_OUTGOING = 4


def make_plain(interface):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        for number in OFFLOADS:
            value = array.array("B", struct.pack("II", number, 0))
            address, _ = value.buffer_info()
            try:
                fcntl.ioctl(handle, SIOCETHTOOL, struct.pack("16sP", interface.encode(), address))
            except OSError as error:
                # What cannot be switched is not there.
                print(f"{interface}: offload {number:#x}: {error}", file=sys.stderr)


def open_end(interface):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    end.bind((interface, ETH_P_ALL))
    end.setblocking(False)
    return end


class Direction:
    def __init__(self, source, target, delay, bits_per_second, loss):
        self.source = source
        self.target = target
        self.delay = delay
        self.loss = loss
        self.chance = random.Random(1)
        self.seconds_per_byte = 8 / bits_per_second
        self.free_at = 0.0
        self.waiting = []
        self.count = 0

    def take(self, now):
        while True:
            try:
                frame, where = self.source.recvfrom(65536)
            except BlockingIOError:
                return
            if where[2] == PACKET_OUTGOING or self.free_at - now > LONGEST_WAIT_SECONDS:
                continue
            if self.loss and self.chance.random() < self.loss:
                continue
            self.free_at = max(self.free_at, now) + len(frame) * self.seconds_per_byte
            self.count += 1
            heapq.heappush(self.waiting, (self.free_at + self.delay, self.count, frame))

    def give(self, now):
        """The time of the next frame."""
        while self.waiting and self.waiting[0][0] <= now:
            try:
                self.target.send(heapq.heappop(self.waiting)[2])
            except OSError as error:
                # A link that is down loses what is on it.
                print(error, file=sys.stderr)
        return self.waiting[0][0] if self.waiting else None


def carry(near, far, delay, bits_per_second, loss=0.0):
    ends = open_end(near), open_end(far)
    line = delay, bits_per_second, loss
    directions = [Direction(*ends, *line), Direction(*reversed(ends), *line)]
    selector = selectors.DefaultSelector()
    for direction in directions:
        selector.register(direction.source, selectors.EVENT_READ, direction)
    print("carrying", flush=True)
    while True:
        due = [time for time in (direction.give(now()) for direction in directions) if time is not None]
        for key, _ in selector.select(max(0.0, min(due) - now()) if due else None):
            key.data.take(now())


now = time.monotonic

if sys.argv[1] == "plain":
    make_plain(sys.argv[2])
else:
    carry(sys.argv[2], sys.argv[3], *map(float, sys.argv[4:]))
