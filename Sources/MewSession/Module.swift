// The session core: journal rules, replay, receipts, permission desk, client queues. Pure values; no I/O.
