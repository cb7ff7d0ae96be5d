"""What a member of a group is told: which group, how many ranges, how long its Lease lasts."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from kinformer.client import Client
from kinformer.leaderelection import ElectionOptions, new_identity
from kinformer.sharding.hashing import LEAST_RANGES, MOST_RANGES

__all__ = ("DEFAULT_GROUP", "ShardOptionError", "Sharding")

DEFAULT_GROUP: Final = "kinformer-manager-shards"

#: A Lease's name has at most 253 characters; the group and what tells two processes apart stand in it as well.
_LONGEST: Final = 100


class ShardOptionError(ValueError):
    """The options of a group do not fit."""


@dataclass(frozen=True, slots=True)
class Sharding:
    """
    One process's part in a group whose members share the keys out between them.

    :param shards: how many ranges the keys are divided into, 64 to 256; the same for all members
    :param group: the name of the group, and of the Lease with its table
    :param namespace: of the Leases
    :param options: how long this member's Lease lasts, and how often it is renewed; the same for all members
    :param identity: what this process is called, such as its pod; its host if empty. The member's name has something
        random behind it: a process that is started again is another member
    :param client: whom to renew the Lease with. One that the controllers do not share, so that no renewal waits in line
        behind their requests; the manager's own if None
    :param by_uid: types of objects that a member holds by their uid, and not by their namespace. The keys of their
        controllers have to begin with the uid, too (``shard_by``)
    :raises ShardOptionError: if the number of shards is out of bounds
    """

    shards: int = LEAST_RANGES
    group: str = DEFAULT_GROUP
    namespace: str = "kube-system"
    options: ElectionOptions = field(default_factory=ElectionOptions)
    identity: str = ""
    client: Client | None = None
    by_uid: Collection[type[Any]] = ()

    def __post_init__(self) -> None:
        if not LEAST_RANGES <= self.shards <= MOST_RANGES:
            raise ShardOptionError(f"there are to be {self.shards} shards: want {LEAST_RANGES} to {MOST_RANGES}")

    def new_member(self) -> str:
        """A name for this process that no other has, nor this one when it is started again: its Lease's name."""
        identity = self.identity or new_identity().partition("_")[0]
        readable = re.sub(r"[^a-z0-9]+", "-", identity.lower()).strip("-")[:_LONGEST].strip("-")
        return "-".join(filter(None, (self.group, readable, uuid.uuid4().hex[:8])))
