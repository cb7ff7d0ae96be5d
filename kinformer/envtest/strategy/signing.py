"""CertificateSigningRequests: who may change which part of them."""

from __future__ import annotations

from kinformer.envtest.strategy.base import Obj, Strategy, with_field

__all__ = ("SigningRequestStrategy",)


class SigningRequestStrategy(Strategy):
    """CertificateSigningRequests. Their spec never changes."""

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
