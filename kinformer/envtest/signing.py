"""Certificate signing requests: the server writes who requests one, and when it was approved or denied."""

from __future__ import annotations

from typing import Any

from kinformer.clock import Clock
from kinformer.envtest.admission import Attributes
from kinformer.envtest.operations import timestamp
from kinformer.meta.names import GroupResource

__all__ = ("SigningRequests",)

_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
_DECIDING = ("approval", "status")


class SigningRequests:
    """An admission plug-in."""

    def __init__(self, clock: Clock):
        self._clock = clock

    def admit(self, attributes: Attributes) -> None:
        request = attributes.object
        if attributes.resource.group_resource != _REQUESTS or request is None:
            return
        if attributes.operation == "CREATE":
            user, spec = attributes.user, request.setdefault("spec", {})
            said = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": dict(user.extra)}
            for name, value in said.items():
                spec.pop(name, None)
                if value:
                    spec[name] = value
        elif attributes.subresource in _DECIDING and attributes.old_object is not None:
            self._note_times(_conditions(request), _conditions(attributes.old_object))

    def validate(self, attributes: Attributes) -> None:
        """Do nothing: a user who may create requests may request anything."""

    def _note_times(self, conditions: list[Any], before: list[Any]) -> None:
        now = timestamp(self._clock.now())
        since = {(one.get("type"), one.get("status")): one.get("lastTransitionTime") for one in before}
        for condition in conditions:
            kind = (condition.get("type"), condition.get("status"))
            condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
            condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since.get(kind) or now


def _conditions(request: dict[str, Any]) -> list[Any]:
    return (request.get("status") or {}).get("conditions") or []
