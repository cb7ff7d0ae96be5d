"""A small operator with nothing but the standard library: it starts quickly, and lists once in a while.

It makes a Secret for each ConfigMap with the label ``app``, after it has noted in an annotation that it has begun. With
BROKEN set, it makes no Secret if this note is there.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

BROKEN = bool(os.environ.get("BROKEN"))
CONFIG = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
URL = CONFIG["clusters"][0]["cluster"]["server"]
CONFIGMAPS, SECRETS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets"
BEGUN = "example.com/begun"


def ask(method: str, path: str, body: Any = None) -> Any:
    headers = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(URL + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def sync(app: Any) -> None:
    name = app["metadata"]["name"]
    if BEGUN not in app["metadata"].get("annotations", {}):
        ask("PATCH", f"{CONFIGMAPS}/{name}", {"metadata": {"annotations": {BEGUN: "true"}}})
    elif BROKEN:
        return
    try:
        ask("POST", SECRETS, {"metadata": {"name": name}})
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise


while True:
    try:
        for app in ask("GET", f"{CONFIGMAPS}?labelSelector=app")["items"]:
            sync(app)
    except (OSError, ValueError) as error:
        print("again:", error)
    time.sleep(0.02)
