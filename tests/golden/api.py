"""A server as a scenario sees it: JSON over HTTP and nothing of this project between, so that any server will do."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from kinformer.models import builtin_resources

__all__ = ("PATCHES", "Api", "Refused", "Unreachable", "connected", "path_of")

_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_JSON = "application/json-patch+json"
PATCHES = {"merge": _MERGE, "strategic": _STRATEGIC, "json": _JSON}


#: Kinds that custom resources serve in a scenario: group, version, plural.
_CUSTOM = {
    "ExternalMetricValue": ("external.metrics.k8s.io", "v1beta1", "queue"),
    "PodMetrics": ("metrics.k8s.io", "v1beta1", "pods"),
}
_STAGES = {"alpha": 0, "beta": 1, "": 2}


def path_of(kind: str, *rest: str, namespace: str) -> str:
    """
    The path of a kind's objects, or of what is below them, at the best version of the API that has the kind.

    :param namespace: where they are, if the kind has namespaces
    """
    if kind in _CUSTOM:
        group, version, plural = _CUSTOM[kind]
        return "/".join([f"/apis/{group}/{version}/namespaces/{namespace}/{plural}", *rest])
    served = [each for each in builtin_resources().values() if each.kind == kind and each.group != "events.k8s.io"]
    best = max(served, key=lambda each: _rank(each.version))
    root = f"/apis/{best.group}/{best.version}" if best.group else f"/api/{best.version}"
    scope = f"/namespaces/{namespace}" if best.namespaced else ""
    return "/".join([f"{root}{scope}/{best.plural}", *rest])


def _rank(version: str) -> tuple[int, int, int]:
    """Versions that are stable come first, then those with a higher number."""
    _, major, stage, minor = re.split(r"v(\d+)(alpha|beta)?(\d+)?", version)[:4]
    return _STAGES[stage or ""], int(major), int(minor or 0)


class Refused(Exception):
    """The server said no."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message


class Unreachable(Exception):
    """There is no server, or none that answers in JSON."""


@asynccontextmanager
async def connected(url: str, token: str = "", *, namespace: str, ca_file: Path | None = None) -> AsyncIterator[Api]:
    """
    An API for one namespace, made and deleted by somebody else.

    :param ca_file: the authority that a server with HTTPS has its certificate from; None: any certificate will do
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    trust = ssl.create_default_context(cafile=ca_file) if ca_file is not None else False
    async with aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(ssl=trust)) as session:
        yield Api(session, namespace)


class Api:
    """Verbs by kind, within one namespace where the kind has one."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self._session = session
        self.namespace = namespace

    def within(self, namespace: str) -> Api:
        """The same server, for another namespace."""
        return Api(self._session, namespace)

    async def create(self, obj: dict[str, Any], *subresource: str) -> dict[str, Any]:
        name = [obj["metadata"]["name"]] if subresource else []
        path = self._path(obj["kind"], *name, *subresource, namespace=obj["metadata"].get("namespace", ""))
        return await self._ask("POST", path, json=obj)

    async def list(self, kind: str, selector: str = "") -> list[dict[str, Any]]:
        """
        All of a kind that a label selector selects, each with its kind filled in.

        :param kind: with ``@-x`` after it: those in the namespace whose name ends so; LoadBalancer is Service
        """
        kind, _, suffix = kind.partition("@")
        kind = "Service" if kind == "LoadBalancer" else kind
        path = self._path(kind, namespace=f"{self.namespace}{suffix}" if suffix else "")
        items = (await self._ask("GET", path, params={"labelSelector": selector} if selector else {}))["items"] or []
        return [{**item, "kind": kind} for item in items]

    async def revision(self) -> str:
        """The server's current resource version: where it has not moved, nothing has."""
        return str((await self._ask("GET", self._path("ConfigMap")))["metadata"]["resourceVersion"])

    async def patch(
        self, kind: str, name: str, body: Any, *, type_: str = "strategic", subresource: str = ""
    ) -> dict[str, Any]:
        path = self._path(kind, name, *([subresource] if subresource else []))
        return await self._ask("PATCH", path, json=body, headers={"Content-Type": PATCHES.get(type_, type_)})

    async def delete(self, kind: str, name: str, options: dict[str, Any] | None = None) -> None:
        await self._ask("DELETE", self._path(kind, name), json=options)

    async def bind(self, pod: str, node: str) -> None:
        """What a scheduler does."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        await self._ask("POST", self._path("Pod", pod, "binding"), json=body)

    async def get(self, namespace: str, plural: str, name: str) -> dict[str, Any]:
        """An object of the core group, in any namespace."""
        return await self._ask("GET", f"/api/v1/namespaces/{namespace}/{plural}/{name}")

    async def evict(self, pod: str, eviction: dict[str, Any]) -> None:
        await self._ask("POST", self._path("Pod", pod, "eviction"), json=eviction)

    def _path(self, kind: str, *rest: str, namespace: str = "") -> str:
        return path_of(kind, *rest, namespace=namespace or self.namespace)

    async def _ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            async with self._session.request(method, path, **request) as response:
                answer: dict[str, Any] = await response.json(content_type=None)
        except (aiohttp.ClientError, ValueError) as error:
            raise Unreachable(f"{method} {path}: {error}") from error
        if response.status >= 400:
            raise Refused(response.status, answer.get("message", ""))
        return answer
