"""Oracles: rules that must hold in every run, whatever faults it has.

All are on unless :class:`Checks` says otherwise:

=============  ========================================================================================================
final-state    the state at the end is that of the run without faults (:mod:`~kinformer.simulation.oracles.normal`)
quiet          nothing is written any more, some time after the last fault
stores         each informer has the objects that the server has
handlers       the calls of a handler for an object are a possible history of the object
syncs          no two syncs of a key run at once, in one process or in a group with leader election or shards
errors         no sync raises a TypeError, a KeyError or a similar error
leader         a process that lost the Lease, or a shard, does not write any more what needs it
steps          each write of a Lease is a step that a model of leader election or of sharding allows
churn          nothing is created or deleted more often than without faults, up to a bound
leftovers      no task is left, and no exception is unhandled
invariants     the conditions of the scenario hold, always or at the end
scenario       the scenario ends without an error
=============  ========================================================================================================

The world makes :class:`Oracles` for a run, passes each record to it right after it was appended, and calls
:meth:`Oracles.finish` at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kinformer.simulation.history import Record
from kinformer.simulation.oracles.base import Ending, Invariant, Oracle, Reference, State, Store, Violation
from kinformer.simulation.oracles.churn import Churn
from kinformer.simulation.oracles.handlers import PossibleHistories
from kinformer.simulation.oracles.invariants import Invariants
from kinformer.simulation.oracles.leaders import LeaderAlone
from kinformer.simulation.oracles.normal import Objects, PatternError, check_patterns, normal_form
from kinformer.simulation.oracles.refinement import Refinement
from kinformer.simulation.oracles.state import FinalState, Leftovers, Quiet, StoresAgree
from kinformer.simulation.oracles.syncs import NoProgrammingErrors, OneSyncAtATime

__all__ = (
    "ORACLES",
    "Checks",
    "Ending",
    "Invariant",
    "Oracle",
    "Oracles",
    "PatternError",
    "Reference",
    "State",
    "Store",
    "Violation",
)

ORACLES = (
    "final-state",
    "quiet",
    "stores",
    "handlers",
    "syncs",
    "errors",
    "leader",
    "steps",
    "churn",
    "leftovers",
    "invariants",
    "scenario",
)
"""The names of all oracles."""


@dataclass(frozen=True, slots=True)
class Checks:
    """
    Which oracles are on, and how strict they are.

    :param without: names of oracles to leave out
    :param may_differ: ``objects:path`` patterns of fields that may differ at the end, such as
        ``jobs.batch/*:status.failed``; a pattern without a path leaves objects out
    :param quiet: the seconds before the end in which nothing may be written
    :param extra: how many more creations or deletions than without faults an object with a fixed name may have
    :param extra_generated: the same for objects with generated names, for each fault: a share of the creations without
        faults
    :param churn_left_out: patterns of names whose creations and deletions are not counted
    :raises PatternError: if a pattern cannot be read
    :raises ValueError: if a name in `without` is not that of an oracle
    """

    without: Sequence[str] = ()
    may_differ: Sequence[str] = ()
    quiet: float = 30.0
    extra: int = 0
    extra_generated: float = 1.0
    churn_left_out: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_patterns(self.may_differ)
        unknown = [name for name in self.without if name not in ORACLES]
        if unknown:
            raise ValueError(f"there is no oracle {unknown[0]!r}: there are {', '.join(ORACLES)}")


class Oracles:
    """
    The oracles of one run.

    :param checks: which of them are on, and how strict they are
    :param reference: the data of the run without deviations; None in that run itself
    """

    def __init__(self, checks: Checks, reference: Reference | None = None) -> None:
        self.checks = checks
        self.violations: list[Violation] = []
        self._invariants = Invariants()
        self._churn = Churn(reference, checks.extra, checks.extra_generated, checks.churn_left_out)
        everything: list[Oracle] = [
            *([FinalState(reference, checks.may_differ)] if reference is not None else []),
            Quiet(checks.quiet),
            StoresAgree(),
            PossibleHistories(),
            OneSyncAtATime(),
            NoProgrammingErrors(),
            LeaderAlone(),
            Refinement(),
            Leftovers(),
            self._invariants,
        ]
        self._oracles = [oracle for oracle in everything if oracle.name not in checks.without]
        if "churn" not in checks.without or reference is None:
            self._oracles.append(self._churn)
        self._listening: dict[str, list[Callable[[Record, State], Iterable[Violation]]]] = {}
        for oracle in self._oracles:
            for what in oracle.listens:
                self._listening.setdefault(what, []).append(oracle.record)

    def assert_always(self, invariant: Invariant) -> None:
        """Check a user's condition after every write."""
        self._invariants.assert_always(invariant)

    def assert_eventually(self, invariant: Invariant) -> None:
        """Check a user's condition at the end."""
        self._invariants.assert_eventually(invariant)

    def record(self, record: Record, state: State) -> None:
        """Pass a record to each oracle that needs it, and collect violations."""
        for see in self._listening.get(record.what, ()):
            self.violations += see(record, state)

    def finish(self, ending: Ending) -> list[Violation]:
        """Let each oracle check the end of the run; returns all violations of the run, each once."""
        for oracle in self._oracles:
            self.violations += oracle.finish(ending)
        return list(dict.fromkeys(self.violations))

    def reference(self, objects: Objects) -> Reference:
        """
        The data of this run with which other runs are compared.

        :param objects: the objects at the end
        """
        state = normal_form(objects, self.checks.may_differ, self._churn.groups)
        return Reference(state, dict(self._churn.made), dict(self._churn.removed))
