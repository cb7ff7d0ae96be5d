"""Sharding: several processes share the keys of their controllers out between them. Leases are all that they need.

Keys are divided into 64 to 256 ranges by a hash of their namespace (:mod:`~kinformer.sharding.hashing`). Each range has
one owner, and its owner alone holds its objects and syncs its keys:

- who lives is told by a Lease for each member (:mod:`~kinformer.sharding.sightings`);
- who should own a range is computed from who lives (:mod:`~kinformer.sharding.rendezvous`);
- who does own it stands in a table (:mod:`~kinformer.sharding.table`), which is changed by compare-and-swap;
- :class:`ShardMember` brings the second to the third, one plan (:mod:`~kinformer.sharding.plan`) after the other;
- :class:`RangeGate` lets workers sync the keys of open ranges only;
- :class:`InformerCaches` has the informers hold what belongs to the member's ranges.

``Manager(sharding=Sharding(shards=64))`` puts them together.
"""

from __future__ import annotations

from kinformer.sharding.caches import InformerCaches
from kinformer.sharding.gate import RangeGate, RangeState
from kinformer.sharding.hashing import LEAST_RANGES, MOST_RANGES, Ranges, fnv1a_64, text_of_key
from kinformer.sharding.leases import GroupLeases
from kinformer.sharding.member import MembershipLost, RangeCaches, ShardMember
from kinformer.sharding.options import DEFAULT_GROUP, Sharding, ShardOptionError
from kinformer.sharding.rendezvous import assignment, owner_of
from kinformer.sharding.snapshot import MemberSnapshot, ShardsSnapshot
from kinformer.sharding.table import ShardCountConflict, Table, TableError

__all__ = (
    "DEFAULT_GROUP",
    "LEAST_RANGES",
    "MOST_RANGES",
    "GroupLeases",
    "InformerCaches",
    "MemberSnapshot",
    "MembershipLost",
    "RangeCaches",
    "RangeGate",
    "RangeState",
    "Ranges",
    "ShardCountConflict",
    "ShardMember",
    "ShardOptionError",
    "Sharding",
    "ShardsSnapshot",
    "Table",
    "TableError",
    "assignment",
    "fnv1a_64",
    "owner_of",
    "text_of_key",
)
