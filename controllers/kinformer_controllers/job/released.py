"""Released: pods whose finalizer was taken off and that the cache still shows with it.

The answer to a write comes before its event does. Until that has come, such a pod is not to be counted again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kinformer_controllers.shared.owning.identity import OwnerId

__all__ = ("Released",)


class Released:
    """Uids of pods, by their Job."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[str, tuple[str, set[str]]] = {}

    def expect(self, job: OwnerId, uids: Iterable[str]) -> None:
        """The finalizers of these are about to be taken off."""
        uid, pods = self._by_key.get(job.key, ("", set()))
        if uid != job.uid:
            pods = set()
            self._by_key[job.key] = (job.uid, pods)
        pods.update(uids)

    def observed(self, job: OwnerId, uid: str) -> None:
        """The cache shows a pod without it, or it was not taken off after all."""
        owner, pods = self._by_key.get(job.key, ("", set()))
        if owner == job.uid:
            pods.discard(uid)

    def of(self, job: OwnerId) -> Collection[str]:
        """Those that are not shown yet, at this moment."""
        owner, pods = self._by_key.get(job.key, ("", set()))
        return frozenset(pods) if owner == job.uid else frozenset()

    def forget(self, key: str, uid: str = "") -> None:
        """
        The Job is gone.

        :param uid: which one; what belongs to another of its name is kept. Empty for whichever
        """
        if uid in ("", self._by_key.get(key, ("", set()))[0]):
            self._by_key.pop(key, None)
