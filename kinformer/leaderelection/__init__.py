"""Leader election: only one of several processes writes. It is client-go's tools/leaderelection, and a guard of writes.

:class:`LeaderElector` waits for a Lease, and works while it is held. :func:`guarded_client` makes the client for that
work. :class:`LeaseKeeper` holds one lease, for uses other than one leader.
"""

from __future__ import annotations

from kinformer.leaderelection.candidate import OLDEST_EMULATION_VERSION, LeaseCandidate
from kinformer.leaderelection.elector import LeaderElector, LeadershipLost, new_identity
from kinformer.leaderelection.fencing import TERM_ANNOTATION, FenceError, fenced_client
from kinformer.leaderelection.guard import EventGuard, Guard, GuardedTransport, WriteRefused, guarded_client
from kinformer.leaderelection.handover import LAST_WRITES_ANNOTATION, UNKNOWN, LastWrites, read_last_writes
from kinformer.leaderelection.health import LeaderHealthzAdaptor
from kinformer.leaderelection.keeper import LeaseKeeper, LeaseNotRenewed
from kinformer.leaderelection.lock import LeaseLock, Lock, LockNotRead
from kinformer.leaderelection.options import JITTER_FACTOR, ElectionOptionError, ElectionOptions
from kinformer.leaderelection.record import ElectionRecord, record_from_spec, spec_from_record

__all__ = (
    "JITTER_FACTOR",
    "LAST_WRITES_ANNOTATION",
    "UNKNOWN",
    "LastWrites",
    "read_last_writes",
    "ElectionOptionError",
    "ElectionOptions",
    "ElectionRecord",
    "EventGuard",
    "FenceError",
    "Guard",
    "GuardedTransport",
    "LeaderElector",
    "LeaderHealthzAdaptor",
    "LeadershipLost",
    "LeaseCandidate",
    "LeaseKeeper",
    "OLDEST_EMULATION_VERSION",
    "LeaseLock",
    "LeaseNotRenewed",
    "Lock",
    "LockNotRead",
    "TERM_ANNOTATION",
    "WriteRefused",
    "fenced_client",
    "guarded_client",
    "new_identity",
    "record_from_spec",
    "spec_from_record",
)
