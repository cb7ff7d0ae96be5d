"""A server with a flood of events: ``python -m tests.endurance.flood FOLDER PORT RATE EVERY --kubeconfig-out FILE``.

It is the embedded API server with fake nodes, in a process of its own, whose data survive a restart. The flood writes
into the storage, without requests: each event is a change of an annotation of a pod, a Lease or a ConfigMap, one object
after the other. It stands still while there is a file ``quiet`` in the folder. Every EVERY seconds the history is
compacted and the watches are cut, so that all clients list again.
"""

from __future__ import annotations

import argparse
import itertools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.envtest.storage import Storage
from kinformer.meta import GroupResource

__all__ = ("BEAT", "Flood", "serve")

#: The annotation that changes.
BEAT = "endurance.kinformer.dev/beat"
KINDS = (GroupResource("", "pods"), GroupResource("coordination.k8s.io", "leases"), GroupResource("", "configmaps"))
#: Seconds between two bursts of the flood.
TICK = 0.02


class Flood:
    """
    Changes one object after the other.

    :ivar count: how many changes there were
    """

    def __init__(self, storage: Storage, rate: float) -> None:
        self._storage, self._rate = storage, rate
        self._targets = self._all()
        self.count = 0

    def _all(self) -> Iterator[tuple[GroupResource, str]]:
        while True:
            found = [(kind, key) for kind in KINDS for key in list(self._storage.log(kind).objects)]
            yield from found or [(KINDS[0], "")]

    def change(self) -> None:
        """Change the next object."""
        resource, key = next(self._targets)
        before = self._storage.log(resource).objects.get(key)
        if before is None:
            return
        obj: dict[str, Any] = before.decode()
        self.count += 1
        obj["metadata"].setdefault("annotations", {})[BEAT] = str(self.count)
        self._storage.update(resource, before, obj)

    async def run(self, quiet: Path) -> None:
        """Change as many a second as there should be, or as many as the machine can."""
        due = anyio.current_time()
        for _ in itertools.count():
            await anyio.sleep_until(due)
            due = max(due + TICK, anyio.current_time() - 1)
            if not quiet.exists():  # noqa: ASYNC240  # its folder is in memory or nearly so
                for _ in range(round(self._rate * TICK)):
                    self.change()


async def serve(folder: Path, port: int, rate: float, every: float, kubeconfig: Path) -> None:
    """Serve until SIGTERM."""
    async with ApiServer(port=port, token="endurance", data=folder / "data.db", controllers=("kubelet",)) as server:
        server.write_kubeconfig(kubeconfig)
        async with connect(kubeconfig) as client, anyio.create_task_group() as tasks:
            flood = Flood(server.storage, rate)
            tasks.start_soon(FakeNodes(client, 20).run)
            tasks.start_soon(flood.run, folder / "quiet")

            async def relists() -> None:
                while True:
                    await anyio.sleep(every)
                    (folder / "events").write_text(str(flood.count))
                    server.faults.compact()
                    server.faults.cut_watches(in_a_line=True)

            tasks.start_soon(relists)
            with anyio.open_signal_receiver(signal.SIGTERM) as signals:
                async for _ in signals:
                    break
            with (folder / "flooded").open("a") as out:
                print(flood.count, file=out)
            tasks.cancel_scope.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("rate", type=float)
    parser.add_argument("every", type=float)
    parser.add_argument("--kubeconfig-out", type=Path)
    given = parser.parse_args()
    anyio.run(serve, given.folder, given.port, given.rate, given.every, given.kubeconfig_out)
