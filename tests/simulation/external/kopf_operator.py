"""An operator in kopf: it makes a Secret for each ConfigMap with the label ``app``.

With BROKEN set, its handler is not idempotent: each call makes another Secret. kopf calls it again if the operator was
killed before kopf could note that it had been called.
"""

from __future__ import annotations

import os
from typing import Any

import kopf
from kubernetes_asyncio import client, config

BROKEN = bool(os.environ.get("BROKEN"))


@kopf.on.startup()
async def connect(**_: Any) -> None:
    await config.load_kube_config()


@kopf.on.create("configmaps", labels={"app": kopf.PRESENT})
async def make_secret(name: str, namespace: str, **_: Any) -> None:
    metadata = {"generateName": f"{name}-"} if BROKEN else {"name": name}
    async with client.ApiClient() as api:
        try:
            await client.CoreV1Api(api).create_namespaced_secret(namespace, {"metadata": metadata})
        except client.ApiException as error:
            if error.status != 409:
                raise
