"""One case: the controllers that run in a simulated world, the steps of users, and what may go wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinformer.envtest.loops import WITHOUT_KUBELET
from kinformer.manager import known_controllers
from kinformer.options import options_of
from kinformer.simulation.faults import Faults
from kinformer.simulation.world import World
from tests.golden.keys import key_flags

__all__ = ("CRASHED_AND_LATE", "SETTLE", "Case", "Step", "loops_beside", "told")

#: The process dies after a write, and events and answers come late: caches are stale.
CRASHED_AND_LATE = Faults.only(crash=0.03, delay=0.05, most=6)

Step = Mapping[str, Any]
SETTLE: Step = {"settle": 2}


@dataclass(frozen=True, slots=True)
class Case:
    """
    One thing to try.

    :param controllers: those that run, by the names of their entry points; or as ``package.module:factory``
    :param begin: is called with the world before anything else
    :param options: what they are told, besides the key files and the network of golden scenarios
    :param may_differ: fields that may be others at the end, as :class:`kinformer.simulation.Checks` has them, each with
        its reason beside it below
    :param plans: those that once failed, each with what was wrong beside it below
    :param churn_left_out: objects that may be made and deleted more often than without faults, with its reason
    :param extra_generated: pods and others with generated names that may be made beside those of a run without faults,
        as :class:`kinformer.simulation.Checks` has it
    :param faults: how often what goes wrong with seeds; None for the usual rates
    :param quiet: seconds without a change after which everything has settled
    :param share: of so many seeds one is played, where a run is long
    """

    name: str
    controllers: Sequence[str]
    steps: Sequence[Step]
    options: Mapping[str, Any] = field(default_factory=dict)
    may_differ: Sequence[str] = ()
    plans: Sequence[str] = ()
    share: int = 1
    quiet: float = 30.0
    churn_left_out: Sequence[str] = ()
    begin: Callable[[World], object] = lambda world: None
    extra_generated: float = 1.0
    faults: Faults | None = None

    def __str__(self) -> str:
        return self.name


def told(controllers: Iterable[str]) -> dict[str, Any]:
    """What controllers are told: of everything that golden scenarios tell theirs, what these know."""
    known = {option.name for name in controllers for option in _options_of(name)}
    return {name: value for name, value in key_flags().items() if name in known}


def _options_of(controller: str) -> Sequence[Any]:
    if ":" in controller:
        return ()
    factory = known_controllers()[controller].load()
    return options_of(factory.options) if factory.options is not None else ()


#: Whose work the server's loops do.
_LOOPS = {"garbage-collector-controller": "garbagecollector", "namespace-controller": "namespace"}


def loops_beside(controllers: Collection[str]) -> tuple[str, ...]:
    """What the server does by itself: all but what these controllers do, and what kubelets do."""
    return tuple(loop for loop in WITHOUT_KUBELET if _LOOPS[loop] not in controllers)
