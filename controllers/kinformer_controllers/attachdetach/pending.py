"""Which operations run, and which have failed and must wait.

An operation has a key: a volume, and a node if the volume may be attached to several nodes at once. The key of a volume
alone excludes the operations of that volume on all nodes. After a failure, an operation of the same name waits 0.5 s,
and twice as long after each further failure, up to 122 s. An operation of another name does not wait: what could not be
attached is detached at once. The rules are those of Kubernetes' ``nestedpendingoperations``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ("ATTACH", "DETACH", "Key", "PendingOperations")

#: The names of the operations, as metrics show them.
ATTACH: Final = "volume_attach"
DETACH: Final = "volume_detach"

#: The first and the longest delay after a failure, in seconds.
_FIRST: Final = 0.5
_LAST: Final = 122.0


class Key(NamedTuple):
    """
    :param node: empty for the key of a volume alone
    """

    volume: str
    node: str = ""

    def excludes(self, other: Key) -> bool:
        return self.volume == other.volume and (not self.node or not other.node or self.node == other.node)


@dataclass(slots=True)
class _Operation:
    key: Key
    name: str
    running: bool = True
    delay: float = 0.0
    failed_at: float = 0.0


class PendingOperations:
    """The operations that run or have failed. Times are those of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._operations: dict[str, list[_Operation]] = {}

    def is_running(self, key: Key) -> bool:
        """Whether an operation runs that excludes one with this key."""
        found = self._find(key)
        return found is not None and found.running

    def delay(self, key: Key, name: str, now: float) -> float:
        """Return for how many seconds an operation must wait after its last failure."""
        found = self._find(key)
        if found is None or found.running or found.name != name:
            return 0.0
        return max(found.failed_at + found.delay - now, 0.0)

    def start(self, key: Key, name: str) -> None:
        """Note that an operation runs. It must be allowed to."""
        found = self._find(key)
        if found is None:
            self._operations.setdefault(key.volume, []).append(_Operation(key, name))
            return
        if found.name != name:
            found.name, found.delay = name, 0.0
        found.key, found.running = key, True

    def succeed(self, key: Key) -> None:
        """Forget an operation and its failures."""
        left = [it for it in self._operations.get(key.volume, ()) if it.key != key]
        if left:
            self._operations[key.volume] = left
        else:
            self._operations.pop(key.volume, None)

    def fail(self, key: Key, now: float) -> None:
        """Note that an operation has failed."""
        for found in self._operations.get(key.volume, ()):
            if found.key == key:
                found.running, found.failed_at = False, now
                found.delay = min(found.delay * 2, _LAST) if found.delay else _FIRST

    def _find(self, key: Key) -> _Operation | None:
        """Return the operation that counts for a key: one that runs, else the one with this key, else any other."""
        related = [it for it in self._operations.get(key.volume, ()) if key.excludes(it.key)]
        for found in related:
            if found.running:
                return found
        return next((it for it in related if it.key == key), related[0] if related else None)
