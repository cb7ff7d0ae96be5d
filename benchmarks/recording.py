"""The cost of a recording: ``python -m benchmarks.recording [SECONDS] [RATE]``.

Pods change at a fixed rate. Their lines come through a client to an informer with one handler, in batches as a socket
gives them, once with a recorder in between and once without. It prints the CPU time of an event of both, with all
threads, and what the recording takes of one core. Each is measured three times in turn; the median counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from kinformer.bench.pods import pod_bytes
from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import Client, WrappedTransport, endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.clock import RealClock
from kinformer.collector import relax
from kinformer.informers import SharedInformerFactory
from kinformer.models import V1Pod
from kinformer.recording import Recorder, Recording

__all__ = ("measure",)

OBJECTS = 1000
BATCH = 50
ROUNDS = 3


class Pods(WrappedTransport):
    """A transport to a server that has pods, whose versions change at a fixed rate."""

    def __init__(self, transport: Transport, rate: float, events: int) -> None:
        super().__init__(transport)
        self.pods = [pod_bytes(number) for number in range(OBJECTS)]
        lines = [b'{"type":"MODIFIED","object":%b}\n' % self.pods[n * 7 % OBJECTS].at(2001 + n) for n in range(events)]
        self.batches = [lines[at : at + BATCH] for at in range(0, events, BATCH)]
        self.pause = BATCH / rate

    async def stream(self, path: str, *, params: Mapping[str, str], **_: Any) -> Watch:
        return Watch(self)


class Watch:
    url = "http://pods"
    has_unread = False

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._next = 0.0
        every = [b'{"type":"ADDED","object":%b}\n' % pod.at(1000) for pod in pods.pods]
        mark = b'{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"2000","annotations":%b}}'
        end = b'{"type":"BOOKMARK","object":%b}\n' % (mark % b'{"k8s.io/initial-events-end":"true"}')
        self._batches = iter([[*every, end], *pods.batches])

    async def read(self) -> list[bytes]:
        self._next = max(self._next + self._pods.pause, time.monotonic() - 0.05)
        await anyio.sleep(max(self._next - time.monotonic(), 0.0))
        batch = next(self._batches, None)
        if batch is None:
            await anyio.sleep_forever()
        assert batch is not None
        return batch

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


async def _run(events: int, rate: float, path: Path | None) -> float:
    """The seconds of CPU time of an event."""
    client = Client(Transport(endpoint_from_url("http://pods"))).through(lambda it: Pods(it, rate, events))
    recorder = None if path is None else Recorder(Recording(path=path), RealClock())
    if recorder is not None:
        client = recorder.client(client)
    seen, done = 0, anyio.Event()

    def saw(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == events:
            done.set()

    async with anyio.create_task_group() as tasks, SharedInformerFactory(client) as informers:
        informer = informers.informer_for(V1Pod)
        informer.add_event_handler(ResourceEventHandlerFuncs(update=saw))
        if recorder is not None:
            recorder.describe(lambda: informers.every, controllers=[], options={}, namespaces=[])
            await recorder.open()
            tasks.start_soon(recorder.run)
        informers.start()
        await informers.wait_for_cache_sync()
        began = time.process_time()
        await done.wait()
        if recorder is not None:
            await recorder.finish()
        cpu = time.process_time() - began
        tasks.cancel_scope.cancel()
    return cpu / events


def measure(seconds: float = 4.0, rate: float = 5000.0) -> tuple[float, float, float]:
    """The microseconds of CPU of an event without and with a recording, and the bytes of an event in the file."""
    events = int(seconds * rate) // BATCH * BATCH
    without, recorded, size = [], [], 0.0
    for _ in range(ROUNDS):
        without.append(anyio.run(_run, events, rate, None))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pods.rec"
            recorded.append(anyio.run(_run, events, rate, path))
            size = sum(file.stat().st_size for file in path.parent.iterdir()) / events
    return statistics.median(without) * 1e6, statistics.median(recorded) * 1e6, size


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=4.0)
    parser.add_argument("rate", type=float, nargs="?", default=5000.0, help="events a second")
    options = parser.parse_args()
    relax()
    rate = options.rate
    without, recorded, size = measure(options.seconds, rate)
    share = (recorded - without) * rate / 1e4
    print(
        f"{without:.1f} µs an event, recorded {recorded:.1f} µs: "
        f"{share:.1f} % of one core at {rate:.0f} events a second"
    )
    print(f"{size:.0f} bytes an event in the file")


if __name__ == "__main__":
    main()
