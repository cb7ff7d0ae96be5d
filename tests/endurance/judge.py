"""The judge: joins what the server had and what the processes noted, and asks the oracles of the simulator.

- ``leader``: no write of a former leader, or of a former owner of a range, after another one took over. A write says
  who made it: its annotation has the term of the leader's Lease, or the member's name
  (:mod:`kinformer.leaderelection.fencing`). The Leases and the writes are judged in the order of their versions.
- ``syncs``: no key in two syncs that may write, in the order of a clock that all processes share. A sync is over when
  its process may not write any more, or has died.
- ``ledger``: no count goes back.
- ``late``: no key is unsynced for longer than the Leases promise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any, Final, NamedTuple

from kinformer.leaderelection.fencing import TERM_ANNOTATION
from kinformer.manager.election import DEFAULT_LEASE
from kinformer.sharding import DEFAULT_GROUP
from kinformer.simulation.history import Record, What
from kinformer.simulation.oracles import Violation
from kinformer.simulation.oracles.leaders import LeaderAlone
from kinformer.simulation.oracles.syncs import OneSyncAtATime
from tests.endurance.member import now

__all__ = ("LEASES", "Late", "Writes", "judge_syncs")

LEASES: Final = "leases.coordination.k8s.io"
_TABLE: Final = f"{LEASES}/kube-system/{DEFAULT_GROUP}"
_LEADER: Final = f"{LEASES}/kube-system/{DEFAULT_LEASE}"


class Writes:
    """
    Judges what the server had: ConfigMaps and Leases, as they come from two watches.

    :ivar violations: what was wrong
    :ivar count: how many writes of members were seen
    """

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.count = 0
        self._oracle = LeaderAlone()
        self._leases: dict[str, Mapping[str, Any]] = {}
        #: Changes that are not judged yet, because an older one of the other watch may come.
        self._coming: dict[str, deque[tuple[int, Mapping[str, Any]]]] = {"configmaps": deque(), LEASES: deque()}
        self._seen: dict[str, int] = dict.fromkeys(self._coming, 0)
        self._data: dict[str, tuple[int, str, str]] = {}
        self._members: set[str] = set()
        self._number = 0

    def get(self, name: str, /) -> Mapping[str, Any] | None:
        """A Lease as it is, for the oracle."""
        return self._leases.get(name)

    def objects(self) -> Mapping[str, Mapping[str, Any]]:
        """All Leases."""
        return self._leases

    def saw(self, resource: str, obj: Mapping[str, Any]) -> None:
        """Take a version of an object, in the order of its watch: ``configmaps`` or :data:`LEASES`."""
        version = int(obj["metadata"]["resourceVersion"])
        self._coming[resource].append((version, obj))
        self._seen[resource] = max(version, self._seen[resource])
        until = min(self._seen.values())
        for _, what, found in sorted(self._due(until), key=lambda due: due[0]):
            (self._lease if what == LEASES else self._config_map)(found)

    def _due(self, until: int) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        for resource, coming in self._coming.items():
            while coming and coming[0][0] <= until:
                version, obj = coming.popleft()
                yield version, resource, obj

    def _tell(self, what: What, actor: str, name: str) -> None:
        self._number += 1
        self.violations += self._oracle.record(Record(self._number, now(), actor, what, name), self)

    def _lease(self, lease: Mapping[str, Any]) -> None:
        meta, spec = lease["metadata"], lease.get("spec") or {}
        name = f"{LEASES}/{meta['namespace']}/{meta['name']}"
        if name != _LEADER and not name.startswith(_TABLE):
            return
        self._leases[name] = lease
        is_members = name.startswith(f"{_TABLE}-")
        actor = meta["name"] if is_members else f"term {spec.get('leaseTransitions') or 0}"
        if is_members and actor not in self._members:
            self._members.add(actor)
            self._tell("start", actor, _TABLE)
        self._tell("write", actor, name)

    def _config_map(self, obj: Mapping[str, Any]) -> None:
        meta, data = obj["metadata"], obj.get("data") or {}
        name = f"{meta['namespace']}/{meta['name']}"
        writer = (meta.get("annotations") or {}).get(TERM_ANNOTATION, "")
        done, before = int(data.get("done", 0)), self._data.get(name, (0, "", ""))
        self._data[name] = state = (done, data.get("seen", ""), writer)
        if state == before or not writer:
            return  # a write of the user
        self.count += 1
        if done < before[0]:
            text = f"{name} goes back from {before[0]} to {done}, by {writer}, after {before[2]}"
            self.violations.append(Violation("ledger", text))
        self._tell("write", f"term {writer}" if writer.isdigit() else writer, f"configmaps/{name}")


class Late:
    """
    Judges how long keys wait for their syncs.

    :param promise: the most seconds that a key may wait
    """

    def __init__(self, promise: float) -> None:
        self.promise = promise
        self.violations: list[Violation] = []
        #: The longest time of a key since the last :meth:`take_longest`.
        self._longest = 0.0
        self._waiting: dict[str, deque[tuple[int, float]]] = {}
        self._told: set[str] = set()

    def asks(self, key: str, todo: int) -> None:
        """Note that a user is about to change an object."""
        self._waiting.setdefault(key, deque()).append((todo, now()))

    def answered(self, key: str, seen: int) -> None:
        """Note that a member has answered so far."""
        waiting = self._waiting.get(key, ())
        while waiting and waiting[0][0] <= seen:
            self._longest = max(self._longest, now() - waiting.popleft()[1])
        if not waiting:
            self._waiting.pop(key, None)
            self._told.discard(key)

    @property
    def oldest(self) -> float:
        """For how many seconds the key has waited that waits longest now."""
        since = min((waiting[0][1] for waiting in self._waiting.values()), default=None)
        return now() - since if since is not None else 0.0

    def take_longest(self) -> float:
        """The longest time of a key since this was asked before, those that still wait included."""
        longest, self._longest = max(self._longest, self.oldest), 0.0
        return longest

    def check(self, during: str) -> None:
        """Look for keys that wait for too long, and name each once."""
        for key, waiting in self._waiting.items():
            seconds = now() - waiting[0][1]
            if seconds > self.promise and key not in self._told:
                self._told.add(key)
                text = f"{key} is not synced after {seconds:.1f} s (promised: {self.promise:.1f}), during {during}"
                self.violations.append(Violation("late", text))


class _Sync(NamedTuple):
    time: float
    #: A sync ends before another one begins at the same time.
    begins: bool
    life: str
    key: str


def _syncs_of(life: str, lines: Iterable[str], died: float) -> Iterator[_Sync]:
    """The syncs of one process, each ended where it could not write any more."""
    begun: dict[str, float] = {}
    until = -inf
    for line in lines:
        words = line.split()
        if len(words) != 4:
            continue  # the process died within the line
        what, time, key = words[0], float(words[1]), words[2]
        # A guard that was closed for good says nothing of when. It was not open for longer than it said before.
        until = float(words[3]) if words[3] != "-inf" else until
        if what == "begin":
            begun[key] = time
        elif what == "end":
            yield from _sync(begun.pop(key), min(time, until), life, key)
    for key, time in begun.items():
        yield from _sync(time, died, life, key)


def _sync(begin: float, end: float, life: str, key: str) -> Iterator[_Sync]:
    if end > begin:  # otherwise it could not write at any time
        yield _Sync(begin, True, life, key)
        yield _Sync(end, False, life, key)


def judge_syncs(groups: Mapping[str, Mapping[str, Iterable[str]]], died: Mapping[str, float]) -> list[Violation]:
    """
    Judge the syncs, once all processes have ended.

    :param groups: the evidence: lines, by the name of a group and the name of a life
    :param died: when each life ended
    """
    found: list[Violation] = []
    for group, lives in groups.items():
        oracle = OneSyncAtATime()
        syncs: list[_Sync] = []
        for life, lines in lives.items():
            oracle.record(Record(0, 0.0, life, "start", group), _NO_STATE)
            syncs += _syncs_of(life, lines, died[life])
        for number, sync in enumerate(sorted(syncs), 1):
            what: What = "sync" if sync.begins else "synced"
            found += oracle.record(Record(number, sync.time, sync.life, what, sync.key, 0, "ledger"), _NO_STATE)
    return found


#: Records of syncs are judged without the state of a server.
_NO_STATE: Any = None
