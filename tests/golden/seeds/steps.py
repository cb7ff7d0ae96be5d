"""Steps of random scenarios that need to know an object's uid: what it is owned by, and what stands for it."""

from __future__ import annotations

from typing import Any

from tests.golden.scenario import Run
from tests.golden.seeds.certified import request_of

__all__ = ("ObjectSteps",)

#: A uid that no object has.
_NOBODY = "00000000-0000-4000-8000-000000000000"
#: The finalizer of claims that are allocated.
_PROTECTED = "resource.kubernetes.io/delete-protection"


class ObjectSteps(Run):
    """Steps about objects of any kind. An object's uid is remembered after the object is gone."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._uids: dict[str, str] = {}

    async def _make(self, what: dict[str, Any]) -> None:
        """
        Create an object whose owners are named by kind and name.

        An owner that has never been there has a uid that no object has.
        """
        owners = [await self._reference(owner) for owner in what["owners"]]
        obj = what["object"]
        self._remember(await self._api.create({**obj, "metadata": {**obj["metadata"], "ownerReferences": owners}}))

    async def _own(self, what: dict[str, Any]) -> None:
        """Give an object other owners."""
        body = {"metadata": {"ownerReferences": [await self._reference(owner) for owner in what["owners"]]}}
        await self._api.patch(what["kind"], what["name"], body, type_="merge")

    async def _hold(self, what: dict[str, Any]) -> None:
        """Replace an object's finalizers, in the scenario's namespace or in another one."""
        body = {"metadata": {"finalizers": what["finalizers"]}}
        api = self._api.within(what["namespace"]) if "namespace" in what else self._api
        await api.patch(what["kind"], what["name"], body, type_="merge")

    async def _reference(self, owner: dict[str, Any]) -> dict[str, Any]:
        key = f"{owner['kind']}/{owner['name']}"
        if "uid" not in owner:
            for obj in await self._api.list(owner["kind"]):
                if obj["metadata"]["name"] == owner["name"]:
                    self._remember(obj)
        return {"uid": self._uids.get(key, _NOBODY), **owner}

    def _remember(self, obj: dict[str, Any]) -> None:
        self._uids[f"{obj['kind']}/{obj['metadata']['name']}"] = obj["metadata"]["uid"]

    async def _delete_each(self, what: dict[str, Any]) -> None:
        """Delete all objects that a selector selects."""
        for obj in await self._api.list(what["kind"], what["selector"]):
            await self._api.delete(what["kind"], obj["metadata"]["name"])

    async def _ask_certificate(self, what: dict[str, Any]) -> None:
        spec = {key: what[key] for key in ("signerName", "usages", "expirationSeconds") if key in what}
        metadata = {"name": what["name"], "labels": {"set": self._api.namespace}}
        request = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": metadata}
        await self._api.create({**request, "spec": {**spec, "request": request_of(what)}})

    async def _decide(self, what: dict[str, Any]) -> None:
        """Add a condition to a request for a certificate."""
        kind = "CertificateSigningRequest"
        for found in await self._api.list(kind, f"set={self._api.namespace}"):
            if found["metadata"]["name"] == what["name"]:
                conditions = [*found.get("status", {}).get("conditions", []), what["condition"]]
                body = {"status": {"conditions": conditions}}
                await self._api.patch(kind, what["name"], body, type_="merge", subresource=what["subresource"])

    async def _allocate(self, what: dict[str, Any]) -> None:
        """What a scheduler does: a pod's claims are allocated, and reserved for it."""
        kind = "ResourceClaim"
        for pod in await self._api.list("Pod"):
            if pod["metadata"]["name"] != what["pod"]:
                continue
            made = {
                each["name"]: each.get("resourceClaimName")
                for each in pod.get("status", {}).get("resourceClaimStatuses", [])
            }
            user = {"resource": "pods", "name": what["pod"], "uid": pod["metadata"]["uid"]}
            for claim in pod["spec"].get("resourceClaims", []):
                if name := claim.get("resourceClaimName") or made.get(claim["name"]):
                    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d"}
                    status: dict[str, Any] = {"allocation": {"devices": {"results": [result]}}}
                    if what["reserve"]:
                        status["reservedFor"] = [user]
                    await self._hold({"kind": kind, "name": name, "finalizers": [_PROTECTED]})
                    await self._api.patch(kind, name, {"status": status}, type_="merge", subresource="status")
