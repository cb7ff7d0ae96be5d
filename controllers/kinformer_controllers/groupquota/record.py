"""The record: what of a GroupQuota's usage is reserved, kept in its status beside the usage itself.

::

    status:
      hard: {pods: "50"}
      used: {pods: "12"}                # all that is stored, and all that is reserved
      reservations:                     # charged, and not seen stored yet
        - {id: 5e1c9a02-1f, resource: pods, namespace: shop-1, name: till-x7k2p, uid: 0b5f..., amounts: {pods: "1"},
           expires: "2026-01-01T00:01:30Z"}
      counted: {pods: "4711"}           # versions that a cache must have come to before it can be counted from

A charge and its reservation are one write, on the very version that the charge was reckoned from. So each version of a
GroupQuota tells for itself what is reserved, whoever wrote it and whatever has become of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from kinformer.meta import GroupResource
from kinformer.meta.quantity import QuantityError
from kinformer.meta.resourcelist import ResourceList, dump, load, total

__all__ = ("EMPTY", "RECORD_LIMIT", "Record", "RecordError", "Reservation", "read_record", "resource_of", "version_of")

#: Bytes that the reservations of one GroupQuota take at most. etcd takes objects of 1.5 MB; the rest is for the others.
RECORD_LIMIT: Final = 1_000_000


class RecordError(ValueError):
    """A record does not make sense; the text names the field."""


class _Entry(msgspec.Struct, forbid_unknown_fields=False, rename="camel"):
    """A reservation in JSON."""

    id: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    amounts: dict[str, str | int | float] = {}
    expires: str = ""


@dataclass(frozen=True, slots=True)
class Reservation:
    """
    What one request was charged to one quota.

    :param id: by which whoever made it knows it again; no two have the same
    :param uid: of the object; empty if the request did not have one
    :param old_version: of an update, the version that it changes; empty for a create
    :param expires: when it ends, by the clock of whoever made it. For people: what ends it is a time that is measured
    """

    id: str
    resource: GroupResource
    namespace: str
    name: str
    uid: str
    old_version: str
    amounts: ResourceList
    expires: str
    #: As it stands in the status, and how many bytes that takes.
    json: dict[str, Any] = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = {
            "id": self.id,
            "resource": str(self.resource),
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.old_version,
            "expires": self.expires,
        }
        json = {key: value for key, value in parts.items() if value} | {"amounts": dump(self.amounts)}
        object.__setattr__(self, "json", json)
        object.__setattr__(self, "size", len(msgspec.json.encode(json)) + 1)

    def is_shown_by(self, uid: str, version: str) -> bool:
        """
        Whether an object of its name says that the request was stored, or never will be.

        An update changes the version that it was admitted with. If there is a later one, it is either the update's own,
        or the server refuses the update and has it admitted anew.
        """
        if not self.uid or uid != self.uid:
            return False
        return not self.old_version or version_of(version) > version_of(self.old_version)


@dataclass(frozen=True, slots=True)
class Record:
    """
    What is reserved of one quota at one version.

    :param reservations: by their ids
    :param counted: the highest version, of each resource, of an object that was reserved and is now counted as stored.
        A cache that has not come to it lacks objects that are in the usage
    :param is_kept: whether the status has a record at all: those that older versions of the webhook wrote have not
    """

    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    counted: Mapping[GroupResource, int] = field(default_factory=dict)
    is_kept: bool = True
    #: Bytes that the reservations take. Kept: each request that is charged asks for it.
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(one.size for one in self.reservations.values()))

    def amounts(self) -> ResourceList:
        """All that is reserved."""
        return total(one.amounts for one in self.reservations.values())

    def adding(self, more: Mapping[str, Reservation]) -> Record:
        """The same with more reservations."""
        return replace(self, reservations={**self.reservations, **more}) if more else self

    def without(self, ids: Collection[str], counted: Mapping[GroupResource, int] | None = None) -> Record:
        """
        The same without some reservations.

        :param counted: versions of their objects, of those that are counted as stored
        """
        if not ids:
            return self
        rest = {id_: one for id_, one in self.reservations.items() if id_ not in ids}
        versions = dict(self.counted)
        for resource, version in (counted or {}).items():
            versions[resource] = max(version, versions.get(resource, 0))
        return replace(self, reservations=rest, counted=versions)

    def json(self) -> dict[str, Any]:
        """Its fields, as the status has them."""
        return {
            "reservations": [one.json for one in self.reservations.values()],
            "counted": {str(resource): str(version) for resource, version in self.counted.items()},
        }


EMPTY: Final = Record()


def read_record(status: Mapping[str, Any], known: Mapping[str, Reservation]) -> Record:
    """
    Read a status' record.

    :param known: reservations that were read before, by id: most are, as a status is read after each charge
    :raises RecordError: if it makes no sense
    """
    entries, counted = status.get("reservations"), status.get("counted")
    if entries is None:
        return Record(is_kept=False)
    if not isinstance(entries, list):
        raise RecordError(f"status.reservations: {entries!r} is not a list")
    reservations = {}
    for entry in entries:
        one = known.get(entry.get("id", "")) if isinstance(entry, Mapping) else None
        if one is None or one.json != entry:
            one = _read(entry)
        reservations[one.id] = one
    if counted is not None and not isinstance(counted, Mapping):
        raise RecordError(f"status.counted: {counted!r} is not an object of versions")
    versions = {resource_of(name): version_of(version) for name, version in (counted or {}).items()}
    return Record(reservations, versions)


def _read(entry: Any) -> Reservation:
    try:
        read = msgspec.convert(entry, _Entry)
        amounts = load(read.amounts)
    except (msgspec.ValidationError, QuantityError) as error:
        raise RecordError(f"status.reservations: {error}") from error
    return Reservation(
        read.id,
        resource_of(read.resource),
        read.namespace,
        read.name,
        read.uid,
        read.resource_version,
        amounts,
        read.expires,
    )


def resource_of(text: str) -> GroupResource:
    """The resource that has this text."""
    resource, _, group = text.partition(".")
    return GroupResource(group, resource)


def version_of(text: Any) -> int:
    """A version as a number, by which versions of one resource are compared (KEP-5504); 0 if it is none."""
    return int(text) if isinstance(text, str) and text.isdecimal() else 0
