"""Golden scenarios in a simulated world: whatever happens, each state that was recorded on a real cluster is there.

The steps of a scenario are done by the world's user. At each snapshot it is waited until nothing happens any more, and
the state is compared with the recorded one. A difference is an error of the scenario, which an oracle reports. So one
run tells whether all is as recorded, whether anything was made twice, and whether the end is that of a run without
faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from kinformer.manager import known_controllers
from kinformer.simulation.faults import Faults
from kinformer.simulation.oracles import Checks
from kinformer.simulation.trial import Trial
from kinformer.simulation.world import World, WorldOptions
from kinformer_controllers.shared.services.service import TRIGGER_TIME_ANNOTATION
from tests.golden.controllers import SCENARIOS, apis_for, cluster_scenarios, controllers_for, workload_scenarios
from tests.golden.run import difference, same_json
from tests.golden.scenario import Scenario
from tests.simulation.controllers.case import loops_beside, told
from tests.simulation.controllers.steps import answers

__all__ = ("CURRENT_AT_THE_START", "LASTING", "RECORDED", "trial_of_recorded")

CURRENT_AT_THE_START: Final = Faults(restart=0.0)
"""The usual faults, but whoever starts again begins on what is current.

On an old view, pods that are there are made once more, pods go that did not have to, and a Deployment is rolled back to
its old template and forward again, which counts as two revisions. With Kubernetes' controllers it is the same, and the
recorded state does not come about: seed=10 restart(manager,write=22,version=-1) of ``dep_rolling``, and
seed=0 restart(manager,write=31,version=-35) refuse(manager,request=44) of ``dep_pause``. The cases of controllers have
such restarts.
"""

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
_LONGER: Final[Mapping[str, float]] = MappingProxyType(
    {
        "podgc_orphan": 2.0,
        # The deadline begins when the Deployment is seen, which may be late.
        "dep_deadline": 8.0,
        "taint_evict": 10.0,
        "node_not_ready": 4.0,
        # The cloud is asked every five seconds, about the nodes that were seen until then.
        "instance_gone": 8.0,
    }
)

#: Seconds without a change before a state is looked at. Longer than what a controller waits for, such as the five
#: seconds between a namespace's deletion and its emptying, or the time after which a refused request is sent again.
_QUIET: Final = 30.0

#: Scenarios whose states are gone before that, or a little later: nobody reports for the nodes, so that they are
#: unreachable after 50 seconds.
_SHORT_LIVED: Final[Mapping[str, float]] = MappingProxyType(
    {"cidr_ready": 2.0, "node_not_ready": 2.0, "node_pods_not_ready": 2.0}
)

#: Users wait until what they did was heard of: nobody can count, or put in order, pods that users made a moment ago.
_SETTLES: Final = frozenset({"rc_adopt", "rc_delete_order", "rs_adopt"})

#: Fields that may be others at the end, beside those of :data:`kinformer.simulation.oracles.normal.MAY_DIFFER`.
_MAY_DIFFER: Final[Sequence[str]] = (
    # Which version of its Job the status names: the one that was seen.
    "cronjobs.batch/*:status.active.0.resourceVersion",
    # The embedded server makes it when it is first read, with the day of its last start. That may be half a year later.
    "configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking:data.since",
    # Signatures have random numbers of OpenSSL's in them.
    "certificatesigningrequests.certificates.k8s.io/*:status.certificate",
    # When the last change was that made the endpoints: there if the pod's change was seen after the Service's.
    "endpoints/*:metadata.annotations",
    "endpointslices.discovery.k8s.io/*:metadata.annotations",
)

#: Past every time that a scenario mentions: pods of one have been ready since the new year.
_HALF_A_YEAR: Final = 181 * 24 * 3600.0

_KNOWN: Final = known_controllers()

_FILES: Final = (
    *workload_scenarios(_KNOWN),
    *cluster_scenarios(_KNOWN),
    *sorted(SCENARIOS.glob("ep_*.json")),
    *sorted(SCENARIOS.glob("eps_*.json")),
)

RECORDED: Final = tuple(file.stem for file in _FILES if file.stem not in _LEFT_OUT)
"""The names of the scenarios, by the names of their files."""

LASTING: Final = tuple(name for name in RECORDED if name not in _SHORT_LIVED)
"""Those whose states are still there after a fault of half a minute.

The others are played with crashes and delays alone. The deleted ServiceCIDR of ``cidr_ready`` goes after ten seconds:
seed=0 hide(manager,servicecidrs.networking.k8s.io/case,event=4,seconds=15). The nodes of the two others are unreachable
after 50 seconds: seed=0 hide(manager,nodes/case-bad,event=1).
"""


@dataclass(frozen=True, slots=True)
class _OfRecorded:
    name: str

    async def __call__(self, world: World) -> None:
        scenario = _what_converges(Scenario.read(SCENARIOS / f"{self.name}.json"))
        longer = _LONGER.get(self.name, 1.0)
        steps = [{"sleep": step["sleep"] * longer} if "sleep" in step else step for step in scenario.steps]
        if self.name in _SETTLES:
            steps = [each for step in steps for each in (step, {"settle": 2})]
        # Nobody is there yet: it takes no time.
        await world.sleep(_HALF_A_YEAR)
        controllers = controllers_for(self.name, _KNOWN) or ()
        world.manager(controllers, options=told(controllers))
        got: list[Any] = await answers(world, steps)
        assert _same_in_the_end(got, scenario.want), difference(got, scenario.want)


def trial_of_recorded(name: str, *, extra_generated: float = 0.0) -> Trial:
    """
    :param name: one of :data:`RECORDED`
    :param extra_generated: pods and others with generated names that may be made beside those of a run without faults,
        as :class:`kinformer.simulation.Checks` has it. None if all faults are crashes and delays: a successor sees all
        that was done before it
    """
    controllers = controllers_for(name, _KNOWN) or ()
    options = WorldOptions(
        loops=loops_beside(controllers),
        quiet=_SHORT_LIVED.get(name, _QUIET),
        longest=2 * _HALF_A_YEAR,
        apis=apis_for(controllers),
    )
    checks = Checks(may_differ=_MAY_DIFFER, extra_generated=extra_generated)
    return Trial(_OfRecorded(name), checks, options)


def _what_converges(scenario: Scenario) -> Scenario:
    """
    A scenario without its Events: one that was not written yet is lost with the process. Kubernetes promises no more.
    """

    def step_of(step: dict[str, Any]) -> dict[str, Any]:
        return {"snapshot": [kind for kind in step["snapshot"] if kind != "Event"]} if "snapshot" in step else step

    want = [{kind: state for kind, state in entry.items() if kind != "Event"} for entry in scenario.want]
    return replace(scenario, steps=[step_of(step) for step in scenario.steps], want=want)


def _same_in_the_end(got: Any, want: Any) -> bool:
    """Whether two states are the same but for what tells how they came about, which is another way with a successor."""
    return same_json(_without_history(got), _without_history(want))


#: How often a spec was changed, and that of which the status tells.
_HISTORY = frozenset({"generation", "observedGeneration"})


def _without_history(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_history(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        # Two loops taint a node, in Kubernetes, too. A late answer changes which of them is first.
        key: sorted(item, key=lambda taint: sorted(taint.items())) if key == "taints" else _without_history(item)
        for key, item in value.items()
        if key not in _HISTORY and not (key == "annotations" and set(item) == {TRIGGER_TIME_ANNOTATION})
    }
