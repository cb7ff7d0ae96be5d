"""What a member knows of its group, as plain values: for a page, a metric, a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ("MemberSnapshot", "ShardsSnapshot")


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """
    One member.

    :param name: its Lease's name
    :param live: whether ranges can be given to it
    :param leaving: whether it gives up what it owns
    :param ranges: those that it owns, by number
    :param seconds_since_renewal: for how long this process has seen no change of its Lease
    """

    name: str
    live: bool
    leaving: bool
    ranges: tuple[int, ...]
    seconds_since_renewal: float


@dataclass(frozen=True, slots=True)
class ShardsSnapshot:
    """
    :param group: namespace and name of the Lease with the table
    :param member: this process
    :param shards: how many ranges there are
    :param may_write: whether this process may write now
    :param members: all that were seen, this process among them
    :param states: of this process's own ranges: ``filling``, ``open`` or ``draining``
    :param unowned: the ranges that nobody owns
    :param running: how many keys are being synced here
    """

    group: str
    member: str
    shards: int
    may_write: bool
    members: tuple[MemberSnapshot, ...]
    states: Mapping[int, str]
    unowned: tuple[int, ...]
    running: int
