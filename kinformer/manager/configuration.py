"""The configuration that a manager runs with, as ``/configz`` shows it: what was given, and the defaults of the rest.

Durations are seconds. Options of controllers have the names of their flags in Python's spelling.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from kinformer.manager.checks import HealthLimits
from kinformer.manager.context import ControllerContext

if TYPE_CHECKING:
    from kinformer.manager.election import LeaderElection

__all__ = ("COMPONENT", "CONFIGURATION", "configuration")

#: What the process calls itself.
COMPONENT: Final = "kinformer-manager"

#: What its configuration is called, as kube-controller-manager's is: after its group.
CONFIGURATION: Final = "manager.kinformer.dev"


def configuration(
    context: ControllerContext, controllers: Iterable[str], election: LeaderElection | None, limits: HealthLimits
) -> dict[str, dict[str, Any]]:
    """The configuration in effect, under its name."""
    elected: dict[str, Any] = {"leaderElect": election is not None}
    if election is not None:
        elected |= {
            "resourceLock": "leases",
            "resourceName": election.name,
            "resourceNamespace": election.namespace,
            **asdict(election.options),
        }
    found = {
        "kind": "ManagerConfiguration",
        "apiVersion": f"{CONFIGURATION}/v1alpha1",
        "server": context.client.server,
        "namespaces": list(context.informers.namespaces),
        "controllers": list(controllers),
        "leaderElection": elected,
        "healthLimits": asdict(limits),
        "options": dict(sorted(context.effective.items())),
    }
    return {CONFIGURATION: found}
