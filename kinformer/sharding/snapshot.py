"""Snapshots: what a member knows of its group, as plain values for pages, metrics and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kinformer.sharding.load import Load, skew

__all__ = ("MemberSnapshot", "ShardsSnapshot")


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """
    One member.

    :param name: its name, which is its Lease's
    :param live: whether it can be given ranges
    :param leaving: whether it is giving up its ranges
    :param ranges: the numbers of the ranges that it owns
    :param seconds_since_renewal: seconds since this process last saw a change of its Lease
    :param load: what it holds and syncs, as it last said; None if it did not say
    """

    name: str
    live: bool
    leaving: bool
    ranges: tuple[int, ...]
    seconds_since_renewal: float
    load: Load | None = None


@dataclass(frozen=True, slots=True)
class ShardsSnapshot:
    """
    :param group: namespace and name of the Lease with the table
    :param member: this process
    :param shards: the number of ranges
    :param may_write: whether this process may write now
    :param members: all members that were seen, including this process
    :param states: the state of each of this process's own ranges: ``filling``, ``open`` or ``draining``
    :param unowned: the ranges without an owner
    :param running: the number of keys that are being synced here
    """

    group: str
    member: str
    shards: int
    may_write: bool
    members: tuple[MemberSnapshot, ...]
    states: Mapping[int, str]
    unowned: tuple[int, ...]
    running: int

    @property
    def object_skew(self) -> float:
        """How many times its even share of the objects the live member with the most of them holds."""
        return skew([load.objects for load in self._loads])

    @property
    def sync_skew(self) -> float:
        """The same of the syncs of the last minute."""
        return skew([load.syncs for load in self._loads])

    @property
    def _loads(self) -> list[Load]:
        return [member.load for member in self.members if member.live and member.load is not None]
