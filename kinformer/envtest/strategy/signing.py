"""CertificateSigningRequests: who may change which part of them; and the names of ClusterTrustBundles."""

from __future__ import annotations

from kinformer.envtest.causes import invalid
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy, conditions_of, with_field
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("SigningRequestStrategy", "TrustBundleStrategy")


class SigningRequestStrategy(Strategy):
    """CertificateSigningRequests. Their spec never changes."""

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        obj["spec"] = old["spec"]

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_status_update(obj, old)
        # The Approved and Denied conditions are kept. The status subresource is for the signer, who may not change
        # them.
        conditions, before = conditions_of(obj), conditions_of(old)
        for kind in ("Approved", "Denied"):
            places = [place for place, one in enumerate(conditions) if one.get("type") == kind]
            said = [one for one in before if one.get("type") == kind]
            if len(places) == len(said):
                for place, one in zip(places, said, strict=True):
                    conditions[place] = one

    def prepare_for_subresource_update(self, subresource: str, obj: Obj, old: Obj) -> None:
        if subresource == "approval":
            conditions, metadata = conditions_of(obj), obj["metadata"]
            obj.clear()
            obj.update({**old, "metadata": metadata, "status": {**(old.get("status") or {})}})
            with_field(obj["status"], "conditions", conditions or None)


class TrustBundleStrategy(Strategy):
    """ClusterTrustBundles. Their names begin with their signer."""

    def validate_name(self, name: str) -> list[str]:
        return dns1123_subdomain_errors(name.rpartition(":")[2])

    def validate(self, obj: Obj) -> list[Cause]:
        name, signer = obj["metadata"]["name"], (obj.get("spec") or {}).get("signerName", "")
        prefix = f"{signer.replace('/', ':')}:" if signer else ""
        if name.startswith(prefix) and ":" not in name.removeprefix(prefix):
            return []
        text = f"for signerName {signer} must be named with prefix {prefix}"
        why = text if signer else 'without signer name must not have ":" in its name'
        return [invalid("metadata.name", name, f"ClusterTrustBundle {why}")]
