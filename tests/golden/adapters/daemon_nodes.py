"""``daemon_nodes``: whether a DaemonSet runs on a node, and what its pod looks like there."""

from __future__ import annotations

from typing import Any

from kinformer.models import V1DaemonSet, V1Node, from_dict, to_dict
from kinformer_controllers.daemonset.placement import placement
from kinformer_controllers.daemonset.rolling_update import allows_surge, surge, unavailable
from kinformer_controllers.daemonset.template import affinity_for, daemon_template

__all__ = ("answer",)


def answer(case: dict[str, Any]) -> Any:
    daemonset, node = from_dict(V1DaemonSet, case["daemonSet"]), from_dict(V1Node, case["node"])
    placed = placement(daemonset, node)
    spec = daemonset.spec.template.spec
    assert spec is not None
    template = to_dict(daemon_template(daemonset, case.get("hash", "hash")))
    answered = {
        "shouldRun": placed.should_run,
        "shouldContinueRunning": placed.should_continue,
        "allowsSurge": allows_surge(daemonset),
        "template": template,
        "affinity": to_dict(affinity_for(spec.affinity, case.get("target", "target"))),
    }
    for name, count in (("surge", surge), ("unavailable", unavailable)):
        try:
            answered[name] = count(daemonset, case["count"])
        except ValueError:
            continue  # left out, as it was recorded
    return answered
