"""Locks: where the record of an election is kept, so that only one of those who write it at a time succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from kinformer.client import Client, ClientError
from kinformer.leaderelection.record import ElectionRecord, record_from_spec, spec_from_record
from kinformer.models import V1Lease

__all__ = ("LeaseLock", "Lock", "LockNotRead", "Recorder")

_REASON: Final = "LeaderElection"


class LockNotRead(ClientError):
    """A record was to be replaced that nobody has read: it is not known what would be replaced."""


class Recorder(Protocol):
    """What a lock needs of a recorder of Events."""

    def event(self, obj: Any, type_: str, reason: str, message: str) -> None:
        """Record an event about `obj`. Returns at once and raises nothing."""


class Lock(Protocol):
    """A record that several read and write; a write fails if somebody else wrote since it was read."""

    identity: str

    async def get(self) -> ElectionRecord:
        """
        Read the record.

        :raises NotFound: if there is none
        :raises ClientError: if it could not be read
        """

    async def create(self, record: ElectionRecord) -> None:
        """
        Write the first record.

        :raises ClientError: if that failed, or there is one
        """

    async def update(self, record: ElectionRecord) -> None:
        """
        Replace the record that was last read or written here.

        :raises Conflict: if somebody else wrote it since
        :raises ClientError: if that failed
        """

    def record_event(self, what: str) -> None:
        """Say in an Event what has happened to this candidate."""

    def describe(self) -> str:
        """What a log line calls it."""


class LeaseLock:
    """
    A :class:`Lock` that is a Lease. What is in the Lease besides the record stays as it is.

    :param client: not a guarded one: it is this write that the guard waits for. One of its own, so that a renewal does
        not wait in line behind the requests of controllers
    :param identity: who this candidate is; no two may have the same
    :param labels: set on the Lease with each write, beside those that it has
    :param annotations: gives for each record that is written the annotations that are set with it; None takes one away
    :param recorder: is told who began and who stopped to lead
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Callable[[ElectionRecord], Mapping[str, str | None]] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.identity = identity
        self._leases = client.resource(dict, V1Lease)
        self._labels = dict(labels or {})
        self._annotations = annotations or (lambda record: {})
        self._recorder = recorder
        self._lease: dict[str, Any] | None = None
        #: The record that was last read, and the annotations beside it.
        self.found = ElectionRecord()
        self.found_annotations: Mapping[str, str] = {}

    @property
    def resource_version(self) -> str:
        """The version of the Lease that was last read or written here; empty before."""
        return self._lease["metadata"].get("resourceVersion", "") if self._lease is not None else ""

    async def get(self) -> ElectionRecord:
        """See :meth:`Lock.get`."""
        self._lease = lease = await self._leases.get(self.name, self.namespace)
        self.found = record_from_spec(lease.get("spec") or {})
        self.found_annotations = lease["metadata"].get("annotations") or {}
        return self.found

    async def create(self, record: ElectionRecord) -> None:
        """See :meth:`Lock.create`."""
        metadata: dict[str, Any] = {"name": self.name, "namespace": self.namespace}
        if self._labels:
            metadata["labels"] = dict(self._labels)
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": spec_from_record(record),
        }
        self._lease = await self._leases.create(lease, self.namespace)

    async def update(self, record: ElectionRecord) -> None:
        """
        See :meth:`Lock.update`.

        :raises LockNotRead: if neither :meth:`get` nor :meth:`create` came before
        """
        if self._lease is None:
            raise LockNotRead(f"the Lease {self.describe()} was not read yet: get() or create() it first")
        metadata = dict(self._lease["metadata"])
        if self._labels:
            metadata["labels"] = {**(metadata.get("labels") or {}), **self._labels}
        if annotations := self._annotations(record):
            merged = {**(metadata.get("annotations") or {}), **annotations}
            metadata["annotations"] = {name: text for name, text in merged.items() if text is not None}
        # A record that leaves out what a coordinated election has put there takes it away, as client-go's does.
        lease = {**self._lease, "metadata": metadata, "spec": spec_from_record(record)}
        self._lease = await self._leases.update(lease)

    def record_event(self, what: str) -> None:
        """See :meth:`Lock.record_event`."""
        if self._recorder is None:
            return
        metadata = self._lease["metadata"] if self._lease is not None else {}
        about = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace, **metadata},
        }
        self._recorder.event(about, "Normal", _REASON, f"{self.identity} {what}")

    def describe(self) -> str:
        """See :meth:`Lock.describe`."""
        return f"{self.namespace}/{self.name}"
