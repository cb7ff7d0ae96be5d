"""What a leader leaves to the next one: the version of its last write of each resource.

A follower that takes a released lease has to know whether its caches show all that the last leader wrote. Where a
resource was not written, no event comes that would tell so, and to ask the server takes a second. So a leader that
gives its lease up notes in the Lease, in an annotation, which resources it wrote, and the version of the last write of
each.
That write is an event of that resource: a cache that has come to it shows all of them.

A note belongs to the release that it was written with. It carries that record's leader transitions: a leader who knows
nothing of notes leaves this one where it is, and makes them one more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from kinformer.meta import GroupResource, is_older

__all__ = ("LAST_WRITES_ANNOTATION", "UNKNOWN", "LastWrites", "read_last_writes")

LAST_WRITES_ANNOTATION: Final = "kinformer.dev/last-writes"

#: Stands for the version of a write that is not known: of a deletion, or one whose answer did not come.
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
    One resource's writes.

    :ivar under_way: how many have no answer yet
    :ivar lost: whether one never had one: the server may carry it out at any time
    :ivar unclear: the number of the newest write when one was answered without a version; None if none was since
    """

    newest: str = "0"
    under_way: int = 0
    lost: bool = False
    unclear: int | None = None

    @property
    def version(self) -> str:
        return UNKNOWN if self.under_way or self.lost or self.unclear is not None else self.newest


class LastWrites:
    """The last writes of one leader, by resource."""

    def __init__(self) -> None:
        self._writes: dict[str, _Writes] = {}
        self._number = 0

    def sent(self, path: str) -> int:
        """
        A write is about to be sent.

        :return: its number, for one of the methods below
        """
        self._of(path).under_way += 1
        self._number += 1
        return self._number

    def answered(self, number: int, method: str, path: str, answer: bytes) -> None:
        """The server has carried it out."""
        writes = self._of(path)
        writes.under_way -= 1
        version = _version_of(answer) if method != "DELETE" else UNKNOWN  # an answer may have the version from before
        if not version:
            writes.unclear = self._number
            return
        if is_older(writes.newest, version):
            writes.newest = version
        if writes.unclear is not None and number > writes.unclear:
            writes.unclear = None  # it was sent after that one had been carried out

    def refused(self, path: str) -> None:
        """It was not carried out, and will not be."""
        self._of(path).under_way -= 1

    def lost(self, path: str) -> None:
        """It is not known what became of it."""
        writes = self._of(path)
        writes.under_way -= 1
        writes.lost = True

    def note(self, transitions: int) -> str:
        """
        The annotation's text.

        :param transitions: the leader transitions of the record that it is written with
        """
        versions = {resource: writes.version for resource, writes in self._writes.items() if writes.version != "0"}
        return msgspec.json.encode(_Note(transitions, versions)).decode()

    def _of(self, path: str) -> _Writes:
        resource = _resource_of(path)
        writes = self._writes.get(resource)
        if writes is None:
            writes = self._writes[resource] = _Writes()
        return writes


def read_last_writes(annotations: Mapping[str, str], transitions: int) -> dict[GroupResource, str] | None:
    """
    What the last leader wrote, by the version of its last write of each resource; :data:`UNKNOWN` for those of which
    that is not known. What is not in it, it did not write.

    :param transitions: the leader transitions of the record that the annotations stand beside
    :return: None if it left no note, or if the note is another's
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


def _resource_of(path: str) -> str:
    """The resource that a path is of, as ``deployments.apps``."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    resource = rest[0] if rest else ""
    return f"{resource}.{group}" if group else resource


def _version_of(answer: bytes) -> str:
    try:
        return _answers.decode(answer).metadata.resource_version
    except msgspec.DecodeError:
        return UNKNOWN
