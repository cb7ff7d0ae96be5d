"""A replica: a second front of the server, whose lists and watches may stand at an older version.

In a cluster with several API servers, one that has lost its connection to etcd goes on answering from its watch cache.
Whoever is connected to it writes to the present and reads the past. As with Kubernetes:

- a list at any version (``resourceVersion=0``) shows the older version, and so does a get at any version;
- a list that names a version which the replica has not come to is refused with "too large resource version";
- a watch sends what happened up to the older version, and goes on when the replica catches up;
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
    Where a replica is, and at which version it stands.

    :param token: the bearer token that may do everything
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
        """The version that it stands at."""
        behind = self.faults.behind
        return self.storage.version if behind is None else behind

    def fall_behind(self, changes: int = 0) -> None:
        """
        Stand still from now on.

        :param changes: so many changes before the present; no further back than history is remembered
        """
        self.stand_at(self.storage.version - changes)

    def stand_at(self, version: int) -> None:
        """Stand at a version; at the oldest one that is remembered, if this one is not."""
        self.faults.behind = self.watches.behind = max(version, self.storage.compacted)

    def catch_up(self) -> None:
        """Show the present from now on: watches send what they have kept back."""
        self.faults.catch_up()
        self.watches.behind = None
        self.watches.nudge()
