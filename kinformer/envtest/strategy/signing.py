"""CertificateSigningRequests: their checks, and who may change which part of them; the names of ClusterTrustBundles."""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.envtest.causes import duplicate, forbidden, invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy, conditions_of, value_at, with_field
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("SigningRequestStrategy", "TrustBundleStrategy")


_DECISIONS = ("Approved", "Denied")
_USAGES = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)


def _check_signer(name: str, path: str) -> Iterator[Cause]:
    domain, _, rest = name.partition("/")
    if name == "kubernetes.io/legacy-unknown":
        yield invalid(path, name, "the legacy signerName is not allowed via this API version")
    elif not rest or "/" in rest:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
    elif "." not in domain:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")


def _check_conditions(conditions: list[Obj], path: str) -> Iterator[Cause]:
    types: list[str] = []
    for index, condition in enumerate(conditions):
        kind, here = condition.get("type", ""), f"{path}[{index}]"
        if not kind:
            yield required(f"{here}.type")
        values = ("True",) if kind in (*_DECISIONS, "Failed") else ("False", "True", "Unknown")
        yield from f.Needed(f.OneOf(*values))(condition.get("status"), f"{here}.status")
        if kind in _DECISIONS and any(other in types for other in _DECISIONS if other != kind):
            yield invalid(path, kind, "Approved and Denied conditions are mutually exclusive")
        if kind in types:
            yield duplicate(f"{here}.type", kind)
        types.append(kind)


class SigningRequestStrategy(Strategy):
    """CertificateSigningRequests. Their spec never changes."""

    checks = f.Fields(
        spec=f.Fields(
            usages=f.Needed(f.Each(f.OneOf(*_USAGES)), f.Each(f.Unique())),
            signerName=f.Needed(_check_signer),
            expirationSeconds=f.Between(600, None, "may not specify a duration less than 600 seconds (10 minutes)"),
        )
    )

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        conditions, field = conditions_of(obj), "status.conditions"
        causes = list(_check_conditions(conditions, field))
        for kind in (*_DECISIONS, "Failed"):
            now, before = ([one.get("type") for one in some].count(kind) for some in (conditions, conditions_of(old)))
            if now < before or (now > before and kind in _DECISIONS and subresource != "approval"):
                text = f'updates may not {"remove" if now < before else "add"} a condition of type "{kind}"'
                causes.append(forbidden(field, text))
        certificate = value_at(old, "status.certificate")
        if certificate and value_at(obj, "status.certificate") != certificate:
            causes.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
        return causes

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        obj["spec"] = old["spec"]

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_status_update(obj, old)
        # The Approved and Denied conditions are kept. The status subresource is for the signer, who may not set them.
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
