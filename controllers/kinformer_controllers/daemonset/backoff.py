"""How soon a failed daemon pod is replaced: later each time that it fails on the same node.

A kubelet that refuses a pod would otherwise be given a new one at once, for ever. The rule is client-go's
``flowcontrol.Backoff``: from 1 second, doubled up to 15 minutes, forgotten after twice that time without a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.clock import Clock

__all__ = ("FailedPodsBackoff",)

_INITIAL: Final = 1.0
_MAX: Final = 15 * 60.0
#: After so many seconds without a failure it starts anew.
_FORGET_AFTER: Final = 2 * _MAX
#: How many are remembered before those that may be forgotten are looked for.
_SWEEP_AT: Final = 1024


@dataclass(slots=True)
class _Entry:
    seconds: float
    since: float


class FailedPodsBackoff:
    """
    What is remembered of failures.

    A key stands for a DaemonSet, a version of its spec, and a node.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, int, str], _Entry] = {}
        self._sweep_at = _SWEEP_AT

    def __len__(self) -> int:
        return len(self._entries)

    def failed(self, key: tuple[str, int, str]) -> float | None:
        """
        A failed pod was found.

        :return: None if it may be replaced now, which is remembered; or seconds after which to look at it again
        """
        now = self._clock.monotonic()
        entry = self._entries.get(key)
        if entry is None or now - entry.since > _FORGET_AFTER:
            self._sweep(now)
            self._entries[key] = _Entry(_INITIAL, now)
            return None
        if now - entry.since < entry.seconds:
            return entry.seconds
        entry.seconds = min(entry.seconds * 2, _MAX)
        entry.since = now
        return None

    def _sweep(self, now: float) -> None:
        if len(self._entries) < self._sweep_at:
            return
        self._entries = {key: one for key, one in self._entries.items() if now - one.since <= _FORGET_AFTER}
        self._sweep_at = max(2 * len(self._entries), _SWEEP_AT)
