"""The record: the reservations of a GroupQuota, which are stored in its status with the usage.

::

    status:
      hard: {pods: "50"}
      used: {pods: "12"}                # stored objects and reservations
      reservations:                     # charged, and not yet seen as stored
        - {id: 5e1c9a02-1f, resource: pods, namespace: shop-1, name: till-x7k2p, uid: 0b5f..., amounts: {pods: "1"},
           expires: "2026-01-01T00:01:30Z"}
      counted: {pods: "4711"}           # versions that a cache must have reached before objects are counted in it

A charge and its reservation are one write, onto the version from which the charge was computed. So each version of a
GroupQuota has all reservations that belong to its usage, even if the replica that wrote it is gone.
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

#: The largest size of the reservations of one GroupQuota, in bytes. An object in etcd may have 1.5 MB; the other fields
#: need the rest.
RECORD_LIMIT: Final = 1_000_000


#: A text with more digits is not a resource version. Python's int() raises ValueError for some thousand digits.
_VERSION_DIGITS: Final = 100


class RecordError(ValueError):
    """A record is invalid. The error names the field."""


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
    The charge of one request to one quota.

    :param id: a unique id
    :param uid: the uid of the object; empty if the request did not have one
    :param old_version: for an update, the resource version that it changes; empty for a create
    :param expires: when it ends, by the clock of the replica that made it. This is for users to read; a reservation
        really ends after a measured time
    """

    id: str
    resource: GroupResource
    namespace: str
    name: str
    uid: str
    old_version: str
    amounts: ResourceList
    expires: str
    #: Its JSON in the status, and the size of that in bytes.
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
        Whether an object with its name shows that the request was stored, or never will be.

        An update applies to the version with which it was admitted. If there is a later version, it is either that of
        this update, or the server refuses the update and calls the webhook again.
        """
        if not self.uid or uid != self.uid:
            return False
        return not self.old_version or version_of(version) > version_of(self.old_version)


@dataclass(frozen=True, slots=True)
class Record:
    """
    The reservations of one quota at one version.

    :param reservations: the reservations by their ids
    :param counted: for each resource the highest version of an object that was reserved and is now counted as stored. A
        cache that has not reached it lacks objects that are in the usage
    :param is_kept: whether the status has a record; older versions of the webhook wrote none
    """

    reservations: Mapping[str, Reservation] = field(default_factory=dict)
    counted: Mapping[GroupResource, int] = field(default_factory=dict)
    is_kept: bool = True
    #: The size of the reservations in bytes. It is stored here, because each charge needs it.
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(one.size for one in self.reservations.values()))

    def amounts(self) -> ResourceList:
        """Return the sum of the reservations."""
        return total(one.amounts for one in self.reservations.values())

    def adding(self, more: Mapping[str, Reservation]) -> Record:
        """Return the same record with more reservations."""
        return replace(self, reservations={**self.reservations, **more}) if more else self

    def without(self, ids: Collection[str], counted: Mapping[GroupResource, int] | None = None) -> Record:
        """
        Return the same record without some reservations.

        :param counted: the versions of the objects that are counted as stored, by resource
        """
        if not ids:
            return self
        rest = {id_: one for id_, one in self.reservations.items() if id_ not in ids}
        versions = dict(self.counted)
        for resource, version in (counted or {}).items():
            versions[resource] = max(version, versions.get(resource, 0))
        return replace(self, reservations=rest, counted=versions)

    def json(self) -> dict[str, Any]:
        """Return its fields in the status."""
        return {
            "reservations": [one.json for one in self.reservations.values()],
            "counted": {str(resource): str(version) for resource, version in self.counted.items()},
        }


EMPTY: Final = Record()


def read_record(status: Mapping[str, Any], known: Mapping[str, Reservation]) -> Record:
    """
    Read the record in a status.

    :param known: reservations that were read before, by id; they are not decoded again
    :raises RecordError: if it is invalid
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
    """Parse a resource such as ``deployments.apps``."""
    resource, _, group = text.partition(".")
    return GroupResource(group, resource)


def version_of(text: Any) -> int:
    """Return a resource version as a number, so that versions can be compared (KEP-5504); 0 if it is not one."""
    if not isinstance(text, str) or not text.isdecimal() or len(text) > _VERSION_DIGITS:
        return 0
    return int(text)
