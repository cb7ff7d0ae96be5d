"""An operator in kopf that makes a Secret for each ConfigMap with the label ``app``.

With BROKEN set, its handler is not idempotent: a second call makes a second Secret. kopf calls it again if the operator
was killed before kopf could note that it had been called.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import aiohttp
import kopf

CONFIG = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
URL = CONFIG["clusters"][0]["cluster"]["server"] + "/api/v1/namespaces/default/secrets"
HEADERS = {"Authorization": f"Bearer {CONFIG['users'][0]['user']['token']}"}


@kopf.on.create("configmaps", labels={"app": kopf.PRESENT})  # type: ignore[arg-type]  # kopf's own marker
async def make(name: str, **_: Any) -> None:
    metadata = {"generateName": f"{name}-"} if os.environ.get("BROKEN") else {"name": name}
    async with (
        aiohttp.ClientSession(headers=HEADERS) as session,
        session.post(URL, json={"metadata": metadata}) as answer,
    ):
        if answer.status != 409:
            answer.raise_for_status()


@kopf.on.update("configmaps", labels={"app": kopf.PRESENT})  # type: ignore[arg-type]  # as above
def note(patch: kopf.Patch, **_: Any) -> None:
    """A plain function, which kopf calls in a thread."""
    patch.setdefault("metadata", {}).setdefault("annotations", {})["example.com/changed"] = "yes"
