"""Sharding: several processes share the keys of their controllers out between them, by Leases alone.

Keys are divided into 64 to 1,024 ranges by a hash of their namespace (:mod:`~kinformer.sharding.hashing`). Each range
has one owner. Only the owner holds its objects and syncs its keys:

- A Lease for each member shows which members are alive (:mod:`~kinformer.sharding.sightings`).
- The owner that a range should have is computed from the live members (:mod:`~kinformer.sharding.plan`).
- The owner that a range has is stored in a table (:mod:`~kinformer.sharding.table`), changed by compare-and-swap.
- :class:`ShardMember` makes plans (:mod:`~kinformer.sharding.plan`) that bring the table to the computed owners.
- :class:`RangeGate` lets workers sync only keys of open ranges.
- :class:`InformerCaches` makes the informers hold only objects of the member's ranges.

``Manager(sharding=Sharding(shards=64))`` uses all of them.
"""

from __future__ import annotations

from kinformer.sharding.caches import InformerCaches
from kinformer.sharding.gate import RangeGate, RangeState
from kinformer.sharding.hashing import LEAST_RANGES, MOST_RANGES, Ranges, fnv1a_64, text_of_key
from kinformer.sharding.holding import RangeCaches
from kinformer.sharding.leases import GroupLeases
from kinformer.sharding.load import Load
from kinformer.sharding.member import ShardMember
from kinformer.sharding.membership import MembershipLost
from kinformer.sharding.options import DEFAULT_GROUP, Sharding, ShardOptionError
from kinformer.sharding.plan import assignment, owner_of
from kinformer.sharding.snapshot import MemberSnapshot, ShardsSnapshot
from kinformer.sharding.table import ShardingConflict, Table, TableError

__all__ = (
    "DEFAULT_GROUP",
    "LEAST_RANGES",
    "MOST_RANGES",
    "GroupLeases",
    "InformerCaches",
    "Load",
    "MemberSnapshot",
    "MembershipLost",
    "RangeCaches",
    "RangeGate",
    "RangeState",
    "Ranges",
    "ShardMember",
    "ShardOptionError",
    "Sharding",
    "ShardingConflict",
    "ShardsSnapshot",
    "Table",
    "TableError",
    "assignment",
    "fnv1a_64",
    "owner_of",
    "text_of_key",
)
