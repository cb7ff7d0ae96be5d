"""Kinds that configure the API server or are answered by it: how they are written."""

from __future__ import annotations

from typing import Any, ClassVar

from kinformer.envtest.strategy.base import Obj, Strategy, with_field

__all__ = (
    "AdmissionBindingStrategy",
    "AdmissionPolicyStrategy",
    "FixedStrategy",
    "FlowSchemaStrategy",
    "PodCertificateStrategy",
    "PodGroupStrategy",
    "PriorityLevelStrategy",
    "SigningRequestStrategy",
    "StorageVersionStrategy",
    "TrustBundleStrategy",
)


class FlowSchemaStrategy(Strategy):
    has_generation = True

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


class PriorityLevelStrategy(Strategy):
    has_generation = True

    def default(self, obj: Obj) -> None:
        spec = obj.get("spec") or {}
        for name, shares in (("limited", 30), ("exempt", 0)):
            level = spec.get(name)
            if level is None:
                continue
            if level.get("nominalConcurrencyShares") is None:
                level["nominalConcurrencyShares"] = shares
            level.setdefault("lendablePercent", 0)
            queuing = (level.get("limitResponse") or {}).get("queuing")
            if queuing is not None:
                queuing.update({key: queuing.get(key) or value for key, value in _QUEUING.items()})


def _default_match(resources: Any) -> None:
    if resources is None:
        return
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(name) or ():
            rule.setdefault("scope", "*")


class AdmissionPolicyStrategy(Strategy):
    """Validating and mutating admission policies. This server does not apply the mutating ones."""

    has_generation = True
    allow_unconditional_update = False

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("failurePolicy", "Fail")
        _default_match(spec.get("matchConstraints"))


class AdmissionBindingStrategy(Strategy):
    has_generation = True
    allow_unconditional_update = False

    def default(self, obj: Obj) -> None:
        _default_match((obj.get("spec") or {}).get("matchResources"))


class SigningRequestStrategy(Strategy):
    """CertificateSigningRequests. Their spec never changes."""

    selectable: ClassVar[dict[str, str]] = {"spec.signerName": ""}

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        obj["spec"] = old["spec"]

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_status_update(obj, old)
        # The Approved and Denied conditions are kept. The status subresource is for the signer, who may not change
        # them.
        conditions, before = _conditions_of(obj), _conditions_of(old)
        for kind in ("Approved", "Denied"):
            places = [place for place, one in enumerate(conditions) if one.get("type") == kind]
            said = [one for one in before if one.get("type") == kind]
            if len(places) == len(said):
                for place, one in zip(places, said, strict=True):
                    conditions[place] = one

    def prepare_for_subresource_update(self, subresource: str, obj: Obj, old: Obj) -> None:
        if subresource == "approval":
            conditions, metadata = _conditions_of(obj), obj["metadata"]
            obj.clear()
            obj.update({**old, "metadata": metadata, "status": {**(old.get("status") or {})}})
            with_field(obj["status"], "conditions", conditions or None)


def _conditions_of(request: Obj) -> list[Obj]:
    return (request.get("status") or {}).get("conditions") or []


class FixedStrategy(Strategy):
    """Kinds whose spec never changes, and whose objects are not overwritten without a version."""

    allow_unconditional_update = False
    fixed = ("spec",)


class PodCertificateStrategy(FixedStrategy):
    selectable: ClassVar[dict[str, str]] = {"spec.signerName": "", "spec.podName": "", "spec.nodeName": ""}

    def default(self, obj: Obj) -> None:
        obj.setdefault("spec", {}).setdefault("maxExpirationSeconds", 86400)


class TrustBundleStrategy(Strategy):
    """ClusterTrustBundles. Their certificates change, their signer does not."""

    allow_unconditional_update = False
    selectable: ClassVar[dict[str, str]] = {"spec.signerName": ""}
    fixed = ("spec.signerName",)


class PodGroupStrategy(FixedStrategy):
    allow_unconditional_update = True

    def default(self, obj: Obj) -> None:
        obj.setdefault("spec", {}).setdefault("disruptionMode", "Pod")


class StorageVersionStrategy(Strategy):
    allow_unconditional_update = False

    def default(self, obj: Obj) -> None:
        obj.setdefault("spec", {})
