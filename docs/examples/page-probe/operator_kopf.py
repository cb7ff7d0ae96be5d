"""The same operator with kopf: ``kopf run --all-namespaces operator_kopf.py``. Its definition is in the manifest."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes_asyncio import config
from kubernetes_asyncio.client import ApiClient, ApiException, CoreV1Api
from pages import forget, lines_of, look_at


@kopf.on.startup()
async def connect(memo: kopf.Memo, **_: Any) -> None:
    try:
        config.load_incluster_config()
    except config.ConfigException:
        await config.load_kube_config()
    memo.core = CoreV1Api(ApiClient())


@kopf.on.cleanup()
async def disconnect(memo: kopf.Memo, **_: Any) -> None:
    await memo.core.api_client.close()


@kopf.on.create("probes.example.com")
@kopf.on.update("probes.example.com", field="spec.url")
@kopf.on.resume("probes.example.com")
async def configure(memo: kopf.Memo, name: str, namespace: str | None, spec: kopf.Spec, **_: Any) -> None:
    child = {"metadata": {"name": name}, "data": {"url": spec["url"]}}
    kopf.adopt(child)
    try:
        await memo.core.create_namespaced_config_map(namespace, child)
    except ApiException as error:
        if error.status != 409:
            raise
        await memo.core.patch_namespaced_config_map(name, namespace, child)


@kopf.timer("probes.example.com", interval=60)
async def check(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
    patch.status["code"] = await look_at(spec["url"])
    patch.status["checkedAt"] = datetime.now(UTC).isoformat()


@kopf.daemon("probes.example.com", cancellation_timeout=5)
async def follow(body: kopf.Body, spec: kopf.Spec, **_: Any) -> None:
    async for line in lines_of(spec["url"]):
        kopf.info(body, reason="Said", message=line)


@kopf.on.delete("probes.example.com")
async def forgotten(spec: kopf.Spec, **_: Any) -> None:
    await forget(spec["url"])
