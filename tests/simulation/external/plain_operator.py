"""An operator with the package ``kubernetes``: it makes a Secret for each ConfigMap with the label ``app``.

With BROKEN set, it deletes a Secret only when it is told that the ConfigMap is gone. If it was not there at that time,
the Secret stays. Its mended form also looks for such Secrets when it starts.
"""

from __future__ import annotations

import os

from kubernetes import client, config, watch

BROKEN = bool(os.environ.get("BROKEN"))

config.load_kube_config()
api = client.CoreV1Api()


def make(configmap: client.V1ConfigMap) -> None:
    metadata = {"name": configmap.metadata.name, "labels": {"made-by": "operator"}}
    try:
        api.create_namespaced_secret(configmap.metadata.namespace, {"metadata": metadata})
    except client.ApiException as error:
        if error.status != 409:
            raise


def delete(name: str, namespace: str) -> None:
    try:
        api.delete_namespaced_secret(name, namespace)
    except client.ApiException as error:
        if error.status != 404:
            raise


def follow() -> None:
    found = api.list_config_map_for_all_namespaces(label_selector="app")
    for configmap in found.items:
        make(configmap)
    if not BROKEN:
        wanted = {(each.metadata.namespace, each.metadata.name) for each in found.items}
        for secret in api.list_secret_for_all_namespaces(label_selector="made-by=operator").items:
            if (secret.metadata.namespace, secret.metadata.name) not in wanted:
                delete(secret.metadata.name, secret.metadata.namespace)
    for event in watch.Watch().stream(
        api.list_config_map_for_all_namespaces,
        label_selector="app",
        resource_version=found.metadata.resource_version,
        timeout_seconds=30,
    ):
        metadata = event["object"].metadata
        if event["type"] == "DELETED":
            delete(metadata.name, metadata.namespace)
        else:
            make(event["object"])


while True:
    follow()
