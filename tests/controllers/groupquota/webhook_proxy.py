"""What kube-apiserver does and the embedded server does not: ask a webhook before an object is stored.

It stands in front of the embedded server and asks about each create in a namespace. As kube-apiserver, it gives an
object its uid before it asks; the embedded server takes it over by :class:`GivenUids`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from kinformer.envtest.admission import Attributes

__all__ = ("GivenUids", "proxy", "review")

_UID = "test.kinformer.dev/uid"


class GivenUids:
    """An admission plug-in: objects have the uids that :func:`proxy` has given them."""

    def admit(self, attributes: Attributes) -> None:
        """Nothing: the server is yet to give an object its uid."""

    def validate(self, attributes: Attributes) -> None:
        """Replace the uid that the server gave."""
        if attributes.operation == "CREATE" and attributes.object is not None:
            metadata = attributes.object["metadata"]
            annotations = metadata.get("annotations") or {}
            metadata["uid"] = annotations.get(_UID) or metadata["uid"]


def review(resource: str, namespace: str, obj: Any, *, operation: str = "CREATE", **more: Any) -> dict[str, Any]:
    """An AdmissionReview as an API server sends it."""
    name = obj["metadata"].get("name", "") if obj else ""
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "operation": operation,
        "resource": {"group": "", "version": "v1", "resource": resource},
        "namespace": namespace,
        "name": name,
        "object": obj,
        **more,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


@asynccontextmanager
async def proxy(server: str, token: str, webhook: Callable[[], str]) -> AsyncIterator[str]:
    """
    :param webhook: its URL at the moment
    """

    async def handle(request: web.Request) -> web.Response:
        body = await request.read()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": request.content_type}
        parts = request.path.strip("/").split("/")
        if request.method == "POST" and len(parts) == 5 and parts[:3] == ["api", "v1", "namespaces"]:
            obj = json.loads(body)
            metadata = obj["metadata"]
            metadata["uid"] = str(uuid.uuid4())
            metadata.setdefault("annotations", {})[_UID] = metadata["uid"]
            body = json.dumps(obj).encode()
            asked = review(parts[4], parts[3], obj)
            try:
                async with session.post(f"{webhook()}/validate", json=asked) as answered:
                    response = (await answered.json())["response"]
            except aiohttp.ClientError as error:
                return refusal(500, "InternalError", f"failed calling webhook: {error}")
            if not response["allowed"]:
                status = response["status"]
                message = f'admission webhook "quota" denied the request: {status["message"]}'
                return refusal(status["code"], status["reason"], message)
        async with session.request(request.method, server + request.path_qs, data=body, headers=headers) as got:
            return web.Response(body=await got.read(), status=got.status, content_type=got.content_type)

    def refusal(code: int, reason: str, message: str) -> web.Response:
        status = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason}
        return web.json_response({**status, "message": message}, status=code)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.2)
    async with aiohttp.ClientSession() as session:
        try:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()
