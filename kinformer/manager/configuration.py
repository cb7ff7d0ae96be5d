"""The configuration in effect, as ``/configz`` shows it: the values that were given, and the defaults of the rest.

Durations are in seconds. Options of controllers have the names of their flags, with underscores in place of dashes.
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

#: The name of the component, for the status pages.
COMPONENT: Final = "kinformer-manager"

#: The name of the configuration: its API group. kube-controller-manager does the same.
CONFIGURATION: Final = "manager.kinformer.dev"


def configuration(
    context: ControllerContext, controllers: Iterable[str], election: LeaderElection | None, limits: HealthLimits
) -> dict[str, dict[str, Any]]:
    """The configuration in effect, by its name :data:`CONFIGURATION`."""
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
