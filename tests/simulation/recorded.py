"""Golden scenarios in a simulated world: whatever happens, each state that was recorded on a real cluster is there.

The steps of a scenario are done by the world's user. At each snapshot it is waited until nothing happens any more, and
the state is compared with the recorded one. A difference is an error of the scenario, which an oracle reports. So one
run tells whether all is as recorded, whether anything was made twice, and whether the end is that of a run without
faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from kinformer.manager import known_controllers
from kinformer.simulation.oracles import Checks
from kinformer.simulation.plan import Crash, Plan
from kinformer.simulation.single import single_deviations
from kinformer.simulation.trial import Trial
from kinformer.simulation.world import World, WorldOptions
from tests.controllers.scenarios.replaying import same_in_the_end, what_converges
from tests.golden.controllers import SCENARIOS, apis_for, cluster_scenarios, controllers_for, workload_scenarios
from tests.golden.run import difference
from tests.golden.scenario import Scenario
from tests.simulation.controllers.catalogue import loops_beside, told
from tests.simulation.controllers.steps import answers

__all__ = ("RECORDED", "crashes", "trial_of_recorded")

_LEFT_OUT: Final = frozenset(
    {
        # Nothing is written.
        "csr_denied",
        "lb_class",
        # Needs admission by quota, which the embedded server of other tests has.
        "rc_quota_refused",
        # Is looked at while a Job backs off, which its successor knows nothing of: it makes the next pod at once.
        "job_failure_policy",
        # Pods that the predecessor deleted after the success count as failed with the successor, as in Kubernetes.
        "job_success_policy",
    }
)

#: What a process counts or waits for begins anew with its successor: times to multiply the sleeps by.
_LONGER: Final[Mapping[str, float]] = MappingProxyType({"ns_delete": 3.0, "podgc_orphan": 2.0})

#: Fields that may be others at the end, beside those of :data:`kinformer.simulation.oracles.normal.MAY_DIFFER`.
_MAY_DIFFER: Final[Sequence[str]] = (
    # Which version of its Job the status names: the one that was seen.
    "cronjobs.batch/*:status.active.0.resourceVersion",
    # Signatures have random numbers of OpenSSL's in them.
    "certificatesigningrequests.certificates.k8s.io/*:status.certificate",
)

#: The same for single scenarios.
_MAY_DIFFER_IN: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        # The node itself says that it is not ready, and its kubelet has to say so of the pods. But a controller that
        # starts sees each pod as a new one, and marks it if it has looked at the node before, as in Kubernetes.
        "node_pods_not_ready": ("pods/*:status.conditions.0.status",),
    }
)

#: Past every time that a scenario mentions: pods of one have been ready since the new year.
_HALF_A_YEAR: Final = 181 * 24 * 3600.0

_KNOWN: Final = known_controllers()

RECORDED: Final = tuple(
    file.stem for file in (*workload_scenarios(_KNOWN), *cluster_scenarios(_KNOWN)) if file.stem not in _LEFT_OUT
)
"""The names of the scenarios, by the names of their files."""


@dataclass(frozen=True, slots=True)
class _OfRecorded:
    name: str

    async def __call__(self, world: World) -> None:
        scenario = what_converges(Scenario.read(SCENARIOS / f"{self.name}.json"))
        longer = _LONGER.get(self.name, 1.0)
        steps = [{"sleep": step["sleep"] * longer} if "sleep" in step else step for step in scenario.steps]
        # Nobody is there yet: it takes no time.
        await world.sleep(_HALF_A_YEAR)
        controllers = controllers_for(self.name, _KNOWN) or ()
        world.manager(controllers, options=told(controllers))
        got: list[Any] = await answers(world, steps)
        assert same_in_the_end(got, scenario.want), difference(got, scenario.want)


def trial_of_recorded(name: str) -> Trial:
    """
    :param name: one of :data:`RECORDED`
    """
    controllers = controllers_for(name, _KNOWN) or ()
    options = WorldOptions(
        loops=loops_beside(controllers), quiet=2.0, longest=2 * _HALF_A_YEAR, apis=apis_for(controllers)
    )
    # A successor sees all that was done before it, so that it makes nothing twice.
    checks = Checks(may_differ=(*_MAY_DIFFER, *_MAY_DIFFER_IN.get(name, ())), extra_generated=0.0)
    return Trial(_OfRecorded(name), checks, options)


def crashes(trial: Trial, most: int) -> list[Plan]:
    """
    Plans of one crash each, evenly spread over a scenario's writes. The answer reaches the process every other time.

    :param most: so many at most
    """
    writes = [each for each in single_deviations(trial.undisturbed, ("crash",)) if isinstance(each, Crash)][::2]
    chosen = [writes[place * len(writes) // most] for place in range(most)] if len(writes) > most else writes
    answers_ = ("lost", "delivered")
    return [Plan(0, (Crash(each.actor, each.write, answers_[place % 2]),)) for place, each in enumerate(chosen)]
