"""Options of a member of a group: the group, the number of ranges, the duration of its Lease."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from kinformer.client import Client
from kinformer.leaderelection import ElectionOptions, new_identity
from kinformer.sharding.hashing import LEAST_RANGES, MOST_RANGES

__all__ = ("DEFAULT_GROUP", "LONGEST_LEASE", "ShardOptionError", "Sharding")

DEFAULT_GROUP: Final = "kinformer-manager-shards"

#: The longest duration of a member's Lease, in seconds. A Lease that says more is not a member's, and no member waits
#: for it any longer than this.
LONGEST_LEASE: Final = 60

#: A Lease's name has at most 253 characters. It also contains the group and a random part.
_LONGEST: Final = 100


class ShardOptionError(ValueError):
    """The options of a group are invalid."""


@dataclass(frozen=True, slots=True)
class Sharding:
    """
    The configuration of one process in a group whose members share the keys out between them.

    :param shards: the number of ranges that the keys are divided into, 64 to 1024; the same for all members
    :param group: the name of the group, and of the Lease with its table
    :param namespace: the namespace of the Leases
    :param options: the duration of this member's Lease and its renewals; the same for all members
    :param identity: the name of this process, such as its pod's; by default the host's. A random part is added to make
        the member's name, so a restarted process is another member
    :param client: the client to renew the Lease with; the manager's own if None. Use one that the controllers do not
        use, so that renewals do not wait behind their requests
    :param fenced: plural and group of resources (``pods``, ``deployments.apps``) whose writes carry this member's
        name, so that the server can refuse late ones (:mod:`kinformer.leaderelection.fencing`)
    :param by: what decides the range of an object in a namespace: ``namespace``, or ``owner`` to divide namespaces, too
        (:mod:`kinformer.sharding.caches`); the same for all members
    :param by_uid: types of objects that are divided by their uid instead of their namespace. The keys of their
        controllers must begin with the uid, too (``shard_by``)
    :raises ShardOptionError: if the number of shards is out of bounds, or the Lease is to last more than 60 seconds
    """

    shards: int = LEAST_RANGES
    group: str = DEFAULT_GROUP
    namespace: str = "kube-system"
    options: ElectionOptions = field(default_factory=ElectionOptions)
    identity: str = ""
    client: Client | None = None
    by: Literal["namespace", "owner"] = "namespace"
    by_uid: Collection[type[Any]] = ()
    fenced: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not LEAST_RANGES <= self.shards <= MOST_RANGES:
            raise ShardOptionError(f"the number of shards is {self.shards}: want {LEAST_RANGES} to {MOST_RANGES}")
        if self.options.lease_seconds > LONGEST_LEASE:
            raise ShardOptionError(
                f"the Lease of a member is to last {self.options.lease_seconds} s: want at most {LONGEST_LEASE} s"
            )

    def new_member(self) -> str:
        """Make a name for a member and its Lease. No other process has it. After a restart it is another one."""
        identity = self.identity or new_identity().partition("_")[0]
        readable = re.sub(r"[^a-z0-9]+", "-", identity.lower()).strip("-")[:_LONGEST].strip("-")
        return "-".join(filter(None, (self.group, readable, uuid.uuid4().hex[:8])))
