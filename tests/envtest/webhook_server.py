"""A webhook for tests: it answers AdmissionReviews over HTTPS as it is told, and remembers what it was asked."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from kinformer.envtest.certificates import Authority

__all__ = ("Hook", "allow", "deny", "patch", "serve_webhook")

Answer = dict[str, Any] | web.Response
Decide = Callable[[dict[str, Any]], Answer | Awaitable[Answer]]


def allow(**more: Any) -> dict[str, Any]:
    return {"allowed": True, **more}


def deny(**status: Any) -> dict[str, Any]:
    return {"allowed": False, "status": status} if status else {"allowed": False}


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return allow(patch=encoded, patchType="JSONPatch")


class Hook:
    """
    :ivar asked: the requests of all reviews, with the path they came to
    :ivar decide: gives the response of each
    """

    def __init__(self, authority: Authority) -> None:
        self.port = 0
        self.asked: list[dict[str, Any]] = []
        self.decide: Decide = lambda request: allow()
        self.bundle = base64.b64encode(authority.certificate).decode()

    async def handle(self, http: web.BaseRequest) -> web.Response:
        request = (await http.json())["request"]
        self.asked.append({**request, "path": http.path_qs})
        answer = self.decide(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, web.Response):
            return answer
        response = {"uid": request["uid"], **answer}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        return web.json_response(body)

    def webhook(self, name: str = "a.example.com", path: str = "/", **fields: Any) -> dict[str, Any]:
        """A webhook's entry in a configuration: for creates of pods, if nothing else is said."""
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        return {
            "name": name,
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": self.bundle},
            "rules": [{**rule, **fields.pop("rule", {})}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }

    @property
    def names(self) -> list[str]:
        return [asked["path"].partition("?")[0].strip("/") for asked in self.asked]


@asynccontextmanager
async def serve_webhook(authority: Authority, *hosts: str) -> AsyncIterator[Hook]:
    hook = Hook(authority)
    context = authority.server_context(hosts or ("127.0.0.1",))
    runner = web.ServerRunner(web.Server(hook.handle), shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        hook.port = runner.addresses[0][1]
        yield hook
    finally:
        await runner.cleanup()
