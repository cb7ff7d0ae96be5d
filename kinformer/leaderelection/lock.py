"""Locks: store the record of an election. If several processes write it at the same time, only one succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from kinformer.arguments import want_client, want_text
from kinformer.client import Client, ClientError
from kinformer.leaderelection.record import ElectionRecord, record_from_spec, spec_from_record
from kinformer.models import V1Lease

__all__ = ("LeaseLock", "Lock", "LockNotRead", "Recorder")

_REASON: Final = "LeaderElection"


class LockNotRead(ClientError):
    """A record was to be replaced before it was read, so it is not known what would be replaced."""


class Recorder(Protocol):
    """The part of a recorder of Events that a lock uses."""

    def event(self, obj: Any, type_: str, reason: str, message: str) -> None:
        """Record an event about `obj`. It returns at once and raises nothing."""


class Lock(Protocol):
    """A record that several processes read and write. A write fails if another process wrote since it was read."""

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

        :raises ClientError: if that failed, or there is already a record
        """

    async def update(self, record: ElectionRecord) -> None:
        """
        Replace the record that was last read or written by this lock.

        :raises Conflict: if another process wrote it since
        :raises ClientError: if that failed
        """

    def record_event(self, what: str) -> None:
        """Record an Event that says what has happened to this candidate."""

    def describe(self) -> str:
        """The lock's name in logs and errors."""


class LeaseLock:
    """
    A :class:`Lock` that is a Lease. Other parts of the Lease are not changed.

    :param client: it must not be guarded, because the guard depends on these writes. Use a client of its own, so that
        renewals do not wait behind the requests of controllers
    :param identity: the identity of this candidate; no two may have the same
    :param labels: labels to set on the Lease with each write, in addition to those that it has
    :param annotations: returns the annotations to set with a record; None as a value removes an annotation
    :param recorder: records who became leader and who stopped leading
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
        want_client(client, "the client of a lock")
        for given, what in ((namespace, "namespace"), (name, "name"), (identity, "identity")):
            want_text(given, f"the {what} of a lock", "a text: the arguments are (client, namespace, name, identity)")
            if not given:
                raise ValueError(f"the {what} of a lock is empty")
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
        # Fields of a coordinated election that the record leaves out are removed, as in client-go.
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
