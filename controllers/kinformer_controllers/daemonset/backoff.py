"""The backoff for replacing failed daemon pods: the delay grows each time that a pod fails on the same node.

Without it, a kubelet that refuses the pod would be given a new one at once, without end. The rule is client-go's
``flowcontrol.Backoff``: it starts with 1 second, is doubled up to 15 minutes, and is forgotten after 30 minutes without
a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.clock import Clock

__all__ = ("FailedPodsBackoff",)

_INITIAL: Final = 1.0
_MAX: Final = 15 * 60.0
#: After this many seconds without a failure, the delay starts again from the first.
_FORGET_AFTER: Final = 2 * _MAX
#: The number of entries at which old ones are removed.
_SWEEP_AT: Final = 1024


@dataclass(slots=True)
class _Entry:
    seconds: float
    since: float


class FailedPodsBackoff:
    """
    The delays of failed pods.

    A key is a DaemonSet's uid, the generation of its spec, and a node's name.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, int, str], _Entry] = {}
        self._sweep_at = _SWEEP_AT

    def __len__(self) -> int:
        return len(self._entries)

    def failed(self, key: tuple[str, int, str]) -> float | None:
        """
        Decide about a failed pod.

        :return: None if it may be replaced now; then the delay for the next failure starts. Otherwise the seconds after
            which to check it again
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
