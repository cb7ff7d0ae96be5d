"""The cases whose steps are those of golden scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinformer.manager import known_controllers
from kinformer.simulation.faults import Faults
from tests.golden.controllers import SCENARIOS, controllers_for
from tests.golden.scenario import Scenario
from tests.simulation.controllers.case import SETTLE, Case, Step

__all__ = ("GOLDEN",)

#: The usual faults, but whoever starts again starts on what is current.
_CURRENT_AT_THE_START = Faults(restart=0.0, restart_server=0.0)

#: What kubelets do in the end: pods that are to go are gone, and the others run. What follows from that is waited for.
_KUBELETS: tuple[Step, ...] = (SETTLE, {"end_pods": {}}, SETTLE, {"run_pods": {}}) * 3 + (SETTLE,)


def _golden(
    name: str,
    *may_differ: str,
    quiet: float = 30.0,
    waits: bool = False,
    churn_left_out: Sequence[str] = (),
    more: Sequence[Step] = (),
    plans: Sequence[str] = (),
    faults: Faults | None = None,
    extra_generated: float = 1.0,
    **options: Any,
) -> Case:
    scenario = Scenario.read(SCENARIOS / f"{name}.json")
    controllers = controllers_for(name, known_controllers())
    assert controllers, f"{name} has no controllers"
    steps = [step for step in scenario.steps if "snapshot" not in step and not _tidies_up(step)]
    if waits:
        steps = [each for step in steps for each in (step, SETTLE)]
    every = [*steps, *more]
    return Case(
        name,
        controllers,
        every,
        options,
        may_differ,
        plans,
        quiet=quiet,
        churn_left_out=churn_left_out,
        extra_generated=extra_generated,
        faults=faults,
    )


def _tidies_up(step: Step) -> bool:
    """Whether a step only removes a node at the end, for the next scenario."""
    return "delete" in step and step["delete"]["kind"] == "Node" and "${ns}" in step["delete"]["name"]


GOLDEN = (
    # The user makes metrics for pods by their names, which are drawn. Who begins on an old view replaces pods, and the
    # new ones have none.
    # The time is written after the scale. If that write fails, the next sync has nothing to scale, and writes no time.
    _golden(
        "hpa_up",
        "horizontalpodautoscalers.autoscaling/*:status.lastScaleTime",
        more=_KUBELETS,
        churn_left_out=("pods.metrics.k8s.io/*",),
        faults=_CURRENT_AT_THE_START,
    ),
    # Who begins on an old view does not see which pods go already, and has another one go that it then makes anew. With
    # Kubernetes' controller it is the same. The new one has to run before states are compared.
    _golden("rs_scale", more=_KUBELETS, plans=("seed=129 restart(manager,write=17,version=-1)",)),
    _golden(
        "dep_rolling",
        # Who begins on an old view that shows the old template rolls back, and forward again when it hears of the new
        # one. Each counts as a revision, with Kubernetes' controller too.
        "*/*:metadata.annotations[deployment.kubernetes.io/revision]",
        "*/*:metadata.annotations[deployment.kubernetes.io/revision-history]",
        # How many pods were taken back on the way is not to be told from the end.
        more=_KUBELETS,
        plans=(
            (
                "seed=9 hide(manager,deployments.apps/case/d,event=8) restart(manager,write=18,version=-5) "
                "restart(manager,write=44,version=-25) restart(manager,write=60,version=-26)"
            ),
            "seed=29 restart(manager,write=66,version=-25)",
            "seed=14 conflict(manager,write=14) restart(manager,write=17,version=-2) conflict(manager,write=25)",
            "seed=29 restart(manager,write=66,version=-26) cut(manager,request=39,event=1)",
            # Four pods are made on the view without pods, and a fifth one when the old set is scaled up again.
            "seed=0 restart(manager,write=35,version=-47)",
        ),
        extra_generated=2.0,
    ),
    # Who begins on an old view in which a pod is the old one deletes it by its name, though it was made anew meanwhile.
    # Kubernetes' controller does, too (kubernetes/kubernetes#59848 is about more of that kind).
    _golden(
        "sts_update",
        # Back to the template of the old view, and forward again: each counts as a revision.
        "controllerrevisions.apps/*:revision",
        more=_KUBELETS,
        churn_left_out=("pods/*",),
        plans=(
            "seed=0 restart(manager,write=13,version=-20)",
            "seed=0 restart(manager,write=11,version=-5)",
            "seed=32 restart(manager,write=17,version=-19)",
        ),
    ),
    _golden("ds_nodes"),
    # Who begins on an old view in which the Job is not complete makes one more pod. Nobody deletes it, because complete
    # Jobs are not looked at. With Kubernetes' controller it is the same.
    _golden("job_complete", faults=_CURRENT_AT_THE_START),
    # Which version of its Job the status names: the one that was seen. The Job has the name of its minute, which is
    # another one after minutes of silence.
    _golden("cj_forbid", "cronjobs.batch/*:status.active.0.resourceVersion", faults=Faults(silent=0.0)),
    _golden(
        "pdb_min_available",
        more=_KUBELETS,
        plans=("seed=46 restart(manager,write=5,version=-5) restart(manager,write=16,version=-8)",),
    ),
    # When the last change was that made the endpoints: there if the pod's change was seen after the Service's.
    # A write that meets a conflict while its cache is behind is tried again after 1, 2, 4, ... 32 seconds.
    _golden("ep_becomes_ready", "endpoints/*:metadata.annotations", quiet=90.0),
    _golden(
        "eps_becomes_ready",
        "endpointslices.discovery.k8s.io/*:metadata.annotations",
        quiet=90.0,
        plans=(
            "seed=594 conflict(manager,write=2) hide(manager,endpointslices.discovery.k8s.io/case/s-tl574,event=3)",
        ),
    ),
    _golden("gc_foreground"),
    # Whether its account is there before a namespace goes is a matter of chance, if nobody waits.
    _golden("ns_delete", waits=True),
    # Nobody reports for the nodes.
    _golden("node_not_ready", node_monitor_grace_period=1e6),
    _golden("taint_evict", node_monitor_grace_period=1e6),
    # A node is looked for a while before its pods go.
    _golden("podgc_orphan", quiet=90.0),
    # After a restart on a view without the claim, the claim may be seen before the smaller volume is available. Then it
    # is bound to the larger one, and the smaller one is let go of. The recorded scenario tests which one it is.
    _golden(
        "pv_bind_smallest",
        "persistentvolumeclaims/case/c:spec.volumeName",
        "persistentvolumeclaims/case/c:status.capacity",
        "persistentvolumes/*:metadata.annotations",
        "persistentvolumes/*:spec.claimRef",
        "persistentvolumes/*:status.phase",
        plans=("seed=0 restart(manager,write=4,version=-4)",),
    ),
    _golden("pvc_protection"),
    _golden("sa_default"),
    _golden("tok_secret"),
    _golden("rootca_publish"),
    # Signatures have random numbers of OpenSSL's in them.
    _golden("csr_auto_approved", "certificatesigningrequests.certificates.k8s.io/*:status.certificate"),
    _golden("lb_create"),
    _golden("route_created"),
    # The slice is deleted for the next scenario.
    _golden("dte_evict"),
    # Who begins on an old view that does not show the claim makes another one, as Kubernetes' controller does. The pod
    # has the name of the last one, and with the pod they all go.
    _golden("rcl_template", faults=_CURRENT_AT_THE_START),
    # The name of the claim that is gone: it is drawn.
    _golden("rcl_pod_done", "pods/*:status.resourceClaimStatuses", faults=_CURRENT_AT_THE_START),
    # The cloud is asked every two seconds.
    _golden("instance_gone", quiet=40.0),
)
