"""Released: pods whose finalizer was removed while the cache still shows it.

The answer to a write usually comes before its watch event. Until the event comes, such a pod must not be counted again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kinformer.controllerutil.owning import OwnerId

__all__ = ("Released",)


class Released:
    """Uids of pods, by their Job."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[str, tuple[str, set[str]]] = {}

    def expect(self, job: OwnerId, uids: Iterable[str]) -> None:
        """Note the pods whose finalizers are about to be removed."""
        uid, pods = self._by_key.get(job.key, ("", set()))
        if uid != job.uid:
            pods = set()
            self._by_key[job.key] = (job.uid, pods)
        pods.update(uids)

    def observed(self, job: OwnerId, uid: str) -> None:
        """Forget a pod: the cache shows it without the finalizer, or the finalizer could not be removed."""
        owner, pods = self._by_key.get(job.key, ("", set()))
        if owner == job.uid:
            pods.discard(uid)

    def of(self, job: OwnerId) -> Collection[str]:
        """Return the uids of the released pods that the cache still shows with the finalizer."""
        owner, pods = self._by_key.get(job.key, ("", set()))
        return frozenset(pods) if owner == job.uid else frozenset()

    def forget(self, key: str, uid: str = "") -> None:
        """
        Forget a Job that is gone.

        :param uid: the Job's uid; the pods of another Job with the same name are kept. Empty for any uid
        """
        if uid in ("", self._by_key.get(key, ("", set()))[0]):
            self._by_key.pop(key, None)
