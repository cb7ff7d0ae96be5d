"""Webhooks and custom resources take part in a world: the server asks over the simulated network."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from kinformer.client import ApiError
from kinformer.simulation import Plan, World, run_world

HOST, PORT = "10.0.0.9", 8443
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: apps.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: apps, singular: app, kind: App, listKind: AppList}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
"""
WEBHOOK = f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: sizes
webhooks:
  - name: sizes.example.com
    clientConfig: {{url: "https://{HOST}:{PORT}/sizes"}}
    rules: [{{apiGroups: [example.com], apiVersions: [v1], resources: [apps], operations: [CREATE]}}]
    sideEffects: None
    admissionReviewVersions: [v1]
    timeoutSeconds: 5
"""


def app(name: str, size: int) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": name}, "spec": {"size": size}}


async def review(request: web.Request) -> web.Response:
    """Sizes above three are refused."""
    asked = (await request.json())["request"]
    answer = {"uid": asked["uid"], "allowed": asked["object"]["spec"]["size"] <= 3}
    return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})


async def scenario(world: World) -> None:
    application = web.Application()
    application.router.add_post("/sizes", review)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, HOST, PORT).start()
    try:
        await world.apply(DEFINITION, WEBHOOK, app("small", 3))
        with pytest.raises(ApiError, match="denied the request"):
            await world.apply(app("large", 4))
    finally:
        await runner.cleanup()
    with pytest.raises(ApiError, match="failed calling webhook"):
        await world.apply(app("unasked", 1))


def test_a_webhook_in_the_world_is_asked_and_its_verdict_counts() -> None:
    result = run_world(scenario, Plan(3))

    assert result.error is None, result.error
    assert [name for name in result.final_state if name.startswith("apps.")] == ["apps.example.com/default/small"]
    assert result.history.digest() == run_world(scenario, Plan(3)).history.digest()
