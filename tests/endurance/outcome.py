"""What a run of processes is told, and what came of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from kinformer.simulation.oracles import Violation

__all__ = ("LEASE", "PROMISE", "RETRY", "Outcome", "Settings", "shown", "table")

#: How long a Lease lasts, and the time between two looks at it: the defaults of ``kinformer manager``.
LEASE, RETRY = 15.0, 2.0
#: The most seconds that a key may be unsynced. A dead owner may have renewed its Lease just before. The others see that
#: at their next look, wait for as long as the Lease lasts, and take it at the look after that. A look comes after 2.2
#: retry periods at the latest. 5 s are for caches and the machine.
PROMISE: Final = LEASE + 2 * 2.2 * RETRY + 5.0


@dataclass(frozen=True, slots=True)
class Settings:
    """
    :param minutes: how long troubles are played
    :param seed: names their order
    :param keys: how many objects there are
    :param rate: how many of them a user changes each second
    :param kubeconfig: of a real server; None: an embedded one, in a process of its own
    """

    minutes: float = 60.0
    seed: int = 1
    keys: int = 2_000
    rate: float = 100.0
    kubeconfig: Path | None = None


@dataclass(slots=True)
class Outcome:
    """
    What came of it.

    :ivar violations: what was wrong
    :ivar longest: the longest times that a key was unsynced, in seconds, by the kind of trouble
    :ivar statuses: how many processes ended with which status
    :ivar starved: the share of its time for which the judge's process waited for a processor
    """

    violations: list[Violation] = field(default_factory=list)
    longest: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[str] = field(default_factory=Counter)
    starved: float = 0.0
    changes: int = 0
    writes: int = 0
    syncs: int = 0


def shown(violations: Sequence[object]) -> list[str]:
    """The lines of a table about what was wrong: how much, and the first 20."""
    return [f"{len(violations)} violations", *(f"  {violation}" for violation in violations[:20])]


def table(outcome: Outcome) -> str:
    """What came of it, for people."""
    lines = [f"{'trouble':28}{'times':>7}{'median s':>10}{'longest s':>11}"]
    for kind, times in sorted(outcome.longest.items()):
        lines.append(f"{kind:28}{len(times):7}{median(times):10.1f}{max(times):11.1f}")
    ended = ", ".join(f"{count} with {status}" for status, count in sorted(outcome.statuses.items()))
    rules = Counter(violation.oracle for violation in outcome.violations)
    by_rule = ", ".join(f"{count} of {rule}" for rule, count in sorted(rules.items())) or "no rule"
    lines += [
        "",
        f"seconds: for how long a key was not synced; promised: {PROMISE:.1f}",
        f"{outcome.changes:,} changes, {outcome.syncs:,} syncs, {outcome.writes:,} writes; processes ended: {ended}",
        f"waited for a processor: {outcome.starved:.0%} of the time (then nobody keeps a promise of time)",
        f"broken: {by_rule}",
        *shown(outcome.violations),
    ]
    return "\n".join(lines)
