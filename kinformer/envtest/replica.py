"""Replica: a second front of the server, whose lists and watches may show an older version.

In a cluster with several API servers, a server that has lost its connection to etcd goes on answering from its watch
cache. A client of that server writes to the present state and reads the past. As in Kubernetes:

- a list or get at any version (``resourceVersion=0``) shows the older version;
- a list at a version that the replica has not reached is refused with "too large resource version";
- a watch sends the changes up to the older version, and goes on when the replica catches up;
- a list or get without a version asks for the most recent state, which comes from etcd;
- a streaming list is refused, as by a server without the feature gate WatchList: informers fall back to plain lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kinformer.clock import Clock
from kinformer.envtest.faults import Faults
from kinformer.envtest.handlers.watching import WatchSet
from kinformer.envtest.storage import Storage

__all__ = ("Replica",)


@dataclass(eq=False)
class Replica:
    """
    A replica: its address, and its version.

    :param token: the bearer token that is allowed to do everything
    """

    storage: Storage
    watches: WatchSet
    clock: Clock
    host: str
    port: int
    token: str
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.faults = Faults(self.storage, self.watches, self.clock)
        self.watches.streams_lists = False

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def version(self) -> int:
        """The version that it shows."""
        behind = self.faults.behind
        return self.storage.version if behind is None else behind

    def fall_behind(self, changes: int = 0) -> None:
        """
        Show one version from now on.

        :param changes: the number of changes before the present version; no further back than the history goes
        """
        self.stand_at(self.storage.version - changes)

    def stand_at(self, version: int) -> None:
        """Show a version; the oldest one in the history, if this one is not in it."""
        self.faults.behind = self.watches.behind = max(version, self.storage.compacted)

    def catch_up(self) -> None:
        """Show the present version from now on. Watches send the changes that they held back."""
        self.faults.catch_up()
        self.watches.behind = None
        self.watches.nudge()
