"""What the scripts of this folder have in common. They run in other environments: only the standard library.

``python NAME.py PORT OBJECTS EVENTS`` follows the pods of the replay server at that port, asks it for so many events,
and prints one line of JSON: events a second of the wall and of this process's CPU, and, where the client has a cache,
what its first sync took.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.request


class Run:
    """
    One measurement.

    Call :meth:`synced` when the first list is there, :meth:`begin` once the watch is wanted, and :meth:`count` for
    each event; the last one ends the process.
    """

    #: Without a new event for so long, the client has dropped some: what came is what is told.
    QUIET_SECONDS = 15

    def __init__(self) -> None:
        self.port, self.objects, self.events = map(int, sys.argv[1:4])
        self.url = f"http://127.0.0.1:{self.port}"
        self.figures: dict[str, float | str] = {}
        self.seen = 0
        self._memory = _resident_kib()
        self._listed = time.perf_counter(), time.process_time()
        self._began = self._last = (0.0, 0.0)

    def list_begins(self) -> None:
        """What was done before belongs to no sync: imports, sessions."""
        self._memory = _resident_kib()
        self._listed = time.perf_counter(), time.process_time()

    def synced(self) -> None:
        """Everything is in the cache."""
        wall, cpu = self._listed
        self.figures["first sync s"] = round(time.perf_counter() - wall, 3)
        self.figures["first sync CPU s"] = round(time.process_time() - cpu, 3)
        self.figures["KiB/object"] = round((_resident_kib() - self._memory) / self.objects, 1)

    def begin(self) -> None:
        """Have the events sent, to the watch that is open or to the next one."""
        self._began = self._last = time.perf_counter(), time.process_time()
        with urllib.request.urlopen(f"{self.url}/load?events={self.events}", timeout=10) as answer:
            answer.read()
        threading.Thread(target=self._give_up_when_quiet, daemon=True).start()

    def count(self) -> None:
        self.seen += 1
        if self.seen == self.events:
            self._last = time.perf_counter(), time.process_time()
            self.end()

    def end(self) -> None:
        """Tell the figures, and end the process, whatever else it does."""
        wall, cpu = (last - first for first, last in zip(self._began, self._last, strict=True))
        figures = {"events/s": round(self.seen / wall), "events/CPU-s": round(self.seen / cpu), **self.figures}
        if self.seen < self.events:
            figures["events seen"] = f"{self.seen:,} of {self.events:,}"
        print(json.dumps(figures), flush=True)
        os._exit(0)

    def _give_up_when_quiet(self) -> None:
        while True:
            before, now = self.seen, (time.perf_counter(), time.process_time())
            time.sleep(self.QUIET_SECONDS)
            if self.seen == before:
                if not before:
                    print(f"no event in {self.QUIET_SECONDS} s", file=sys.stderr, flush=True)
                    os._exit(1)
                self._last = now
                self.end()


def kubeconfig(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "replay", "cluster": {"server": url}}],
        "users": [{"name": "replay", "user": {}}],
        "contexts": [{"name": "replay", "context": {"cluster": "replay", "user": "replay"}}],
        "current-context": "replay",
    }


def _resident_kib() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123  # no file on a disk
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
