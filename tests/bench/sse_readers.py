"""Many readers of one SSE stream, in a process of their own: one epoll loop that counts events and looks at nothing
else, so that what is measured is the server.

    python -m tests.bench.sse_readers <host> <port> <path> <count>

Every event of the stream holds the byte `@` once, and behind it its moment of sending (time.monotonic_ns, 19 digits).
Writes lines of JSON: {"open": n} once all have their headers, then {"least": n, "at": ns} as the slowest reader goes
on. Understands `sample` (latencies from now on) and `report` on its standard input; ends at its end.
"""

from __future__ import annotations

import resource
import select
import socket
import sys
import time
from array import array
from contextlib import suppress

import orjson

MARK = b"@"
DIGITS = 19
_TELL_EVERY_NS = 5_000_000
_BUFFER = 256 * 1024


class Readers:
    """The readers' sockets, their counts, and the samples."""

    def __init__(self, host: str, port: int, path: str, count: int) -> None:
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._counts: dict[int, int] = {}
        self._buffer = bytearray(_BUFFER)
        self._view = memoryview(self._buffer)
        self._sampling = False
        self._samples = array("q")
        self._unreadable = 0
        self._closed = 0
        self._greeted: set[int] = set()
        request = f"GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\naccept: text/event-stream\r\n\r\n".encode("ascii")
        for _ in range(count):
            peer = socket.create_connection((host, port))
            peer.sendall(request)
            peer.setblocking(False)
            self._sockets[peer.fileno()] = peer
            self._counts[peer.fileno()] = 0
            self._poll.register(peer.fileno(), select.EPOLLIN)
        self._poll.register(0, select.EPOLLIN)

    def run(self) -> None:
        """Until standard input ends."""
        told_open = False
        told, told_at = 0, 0
        while True:
            for number, _ in self._poll.poll(0.01):
                if number == 0:
                    if not self._obey(sys.stdin.readline()):
                        return
                else:
                    self._read(number)
            now = time.monotonic_ns()
            if not told_open and len(self._greeted) == len(self._sockets):
                told_open = True
                _tell(open=len(self._sockets))
            if now - told_at >= _TELL_EVERY_NS:
                least = min(self._counts.values(), default=0)
                if least != told:
                    told, told_at = least, now
                    _tell(least=least, at=now)

    def _read(self, number: int) -> None:
        got = 0
        with suppress(ConnectionError):  # counted as closed below
            got = self._sockets[number].recv_into(self._buffer)
        if not got:
            self._closed += 1
            self._poll.unregister(number)
            return
        events = self._buffer.count(MARK, 0, got)
        self._counts[number] += events
        if self._sampling and events:
            self._sample(got)
        elif not events:
            self._greeted.add(number)

    def _sample(self, got: int) -> None:
        now = time.monotonic_ns()
        at = self._buffer.find(MARK, 0, got)
        while at >= 0:
            sent = self._view[at + 1 : min(at + 1 + DIGITS, got)].tobytes()
            if len(sent) == DIGITS and sent.isdigit():
                self._samples.append(now - int(sent))
            else:
                self._unreadable += 1  # cut in two by the transport
            at = self._buffer.find(MARK, at + 1, got)

    def _obey(self, line: str) -> bool:
        match line.strip():
            case "sample":
                self._sampling, self._samples, self._unreadable = True, array("q"), 0
                _tell(sampling=True)
            case "report":
                _tell(
                    report=_summary(self._samples),
                    unreadable=self._unreadable,
                    closed=self._closed,
                    counts=[min(self._counts.values()), max(self._counts.values())],
                )
            case _:
                return bool(line)
        return True


def _summary(samples: array[int]) -> dict[str, float]:
    ordered = sorted(samples)
    if not ordered:
        return {"samples": 0}
    at = {part: ordered[min(len(ordered) - 1, int(len(ordered) * part))] / 1e6 for part in (0.5, 0.9, 0.99, 0.999)}
    named = {"p50": at[0.5], "p90": at[0.9], "p99": at[0.99], "p999": at[0.999], "max": ordered[-1] / 1e6}
    return {"samples": len(ordered), **named}


def _tell(**said: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(said) + b"\n")
    sys.stdout.buffer.flush()


def raise_open_files() -> None:
    """As many descriptors as this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    raise_open_files()
    Readers(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])).run()
