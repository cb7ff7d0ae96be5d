"""Handover: a leader notes the version of its last write to each resource, for the next leader.

A follower that takes a released lease must know whether its caches show everything that the last leader wrote. For a
resource that was not written, no event comes that would show it, and to ask the server takes a second. So a leader that
releases its lease adds an annotation to the Lease. It has the resources that the leader wrote, and the version of the
last write to each. That write is an event of its resource. A cache that has received it shows all writes.

A note belongs to the release with which it was written, and has the leader transitions of that record. A leader that
does not know about notes leaves the annotation unchanged, and raises the leader transitions by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from kinformer.meta import GroupResource, is_older
from kinformer.meta.requests import about

__all__ = ("LAST_WRITES_ANNOTATION", "UNKNOWN", "LastWrites", "read_last_writes")

LAST_WRITES_ANNOTATION: Final = "kinformer.dev/last-writes"

#: The version of a write if it is not known: that of a deletion, or of a write whose response did not come.
UNKNOWN: Final = ""


class _Metadata(msgspec.Struct):
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class _Answer(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Note(msgspec.Struct):
    transitions: int
    versions: dict[str, str]


_answers: Final = msgspec.json.Decoder(_Answer)
_notes: Final = msgspec.json.Decoder(_Note)


@dataclass(slots=True)
class _Writes:
    """
    The writes to one resource.

    :ivar under_way: the number of writes without a response yet
    :ivar lost: whether the response to a write was lost: the server may still carry it out at any time
    :ivar unclear: set when a response had no version: the number of the newest write at that time. None otherwise
    """

    newest: str = "0"
    under_way: int = 0
    lost: bool = False
    unclear: int | None = None

    @property
    def version(self) -> str:
        return UNKNOWN if self.under_way or self.lost or self.unclear is not None else self.newest


class LastWrites:
    """The last writes of one leader to each resource."""

    def __init__(self) -> None:
        self._writes: dict[str, _Writes] = {}
        self._number = 0

    def sent(self, path: str) -> int:
        """
        Note that a write is about to be sent.

        :return: the number of the write, for :meth:`answered`
        """
        self._of(path).under_way += 1
        self._number += 1
        return self._number

    def answered(self, number: int, method: str, path: str, answer: bytes) -> None:
        """Note that the server has carried out a write."""
        writes = self._of(path)
        writes.under_way -= 1
        version = (
            _version_of(answer) if method != "DELETE" else UNKNOWN
        )  # its response may have the version before the deletion
        if not version:
            writes.unclear = self._number
            return
        if is_older(writes.newest, version):
            writes.newest = version
        if writes.unclear is not None and number > writes.unclear:
            writes.unclear = None  # this write was sent after the unclear one had been carried out

    def refused(self, path: str) -> None:
        """Note that a write was not carried out, and will not be."""
        self._of(path).under_way -= 1

    def lost(self, path: str) -> None:
        """Note that it is not known whether a write was carried out."""
        writes = self._of(path)
        writes.under_way -= 1
        writes.lost = True

    def note(self, transitions: int) -> str:
        """
        Make the text of the annotation.

        :param transitions: the leader transitions of the record with which it is written
        """
        versions = {resource: writes.version for resource, writes in self._writes.items() if writes.version != "0"}
        return msgspec.json.encode(_Note(transitions, versions)).decode()

    def _of(self, path: str) -> _Writes:
        resource = about("", path).resource
        writes = self._writes.get(resource)
        if writes is None:
            writes = self._writes[resource] = _Writes()
        return writes


def read_last_writes(annotations: Mapping[str, str], transitions: int) -> dict[GroupResource, str] | None:
    """
    Read the version of the last leader's last write to each resource.

    The version is :data:`UNKNOWN` where it is not known. The leader did not write to resources that are missing here.

    :param transitions: the leader transitions of the record beside the annotations
    :return: the versions; None if there is no note, or the note is of another release
    """
    try:
        note = _notes.decode(annotations[LAST_WRITES_ANNOTATION])
    except (KeyError, msgspec.DecodeError):
        return None
    if note.transitions != transitions:
        return None
    found = {}
    for name, version in note.versions.items():
        resource, _, group = name.partition(".")
        found[GroupResource(group, resource)] = version
    return found


def _version_of(answer: bytes) -> str:
    try:
        return _answers.decode(answer).metadata.resource_version
    except msgspec.DecodeError:
        return UNKNOWN
