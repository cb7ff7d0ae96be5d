"""Defaults of pods' specs, wherever they stand: in a pod, or in a template of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.envtest.strategy.base import Obj

__all__ = ("default_pod_spec", "default_template", "default_volume")

_FILE_MODE = 420  # 0644
_TOKEN_SECONDS = 3600


def default_template(template: Obj) -> None:
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Obj) -> None:
    """
    What every pod spec gets; a pod's own gets some more (:mod:`.pods`).
    """
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if account := spec.get("serviceAccountName"):
        spec["serviceAccount"] = account
    elif account := spec.get("serviceAccount"):
        spec["serviceAccountName"] = account
    host_network = spec.get("hostNetwork", False)
    for container in spec.get("containers") or ():
        _default_container(container, host_network)
    for container in spec.get("initContainers") or ():
        _default_container(container, host_network)
    for container in spec.get("ephemeralContainers") or ():
        _default_container(container, False)
    for volume in spec.get("volumes") or ():
        default_volume(volume)


def _default_container(container: Obj, host_network: bool) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if _tag(container.get("image", "")) == "latest" else "IfNotPresent"
    resources = container.setdefault("resources", {})
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe := container.get(name):
            _default_probe(probe)
    lifecycle = container.get("lifecycle") or {}
    for name in ("postStart", "preStop"):
        if handler := lifecycle.get(name):
            _default_handler(handler)
    for variable in container.get("env") or ():
        if reference := (variable.get("valueFrom") or {}).get("fieldRef"):
            reference.setdefault("apiVersion", "v1")
    if limits := resources.get("limits"):
        requests = resources.setdefault("requests", {})
        for name, value in limits.items():
            requests.setdefault(name, value)


def _tag(image: str) -> str:
    """An image's tag; ``latest`` where it has neither tag nor digest."""
    if "@" in image:
        name, _, _ = image.partition("@")
        return name.rpartition("/")[2].partition(":")[2]
    return image.rpartition("/")[2].partition(":")[2] or "latest"


def _default_probe(probe: Obj) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    _default_handler(probe)


def _default_handler(handler: Obj) -> None:
    if http := handler.get("httpGet"):
        http.setdefault("path", "/")
        http.setdefault("scheme", "HTTP")
    if (grpc := handler.get("grpc")) is not None:
        grpc.setdefault("service", "")


def _mode(source: Obj) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


def _field_refs(source: Obj) -> None:
    for item in source.get("items") or ():
        if reference := item.get("fieldRef"):
            reference.setdefault("apiVersion", "v1")


def _downward(source: Obj) -> None:
    _mode(source)
    _field_refs(source)


def _projected(source: Obj) -> None:
    _mode(source)
    for one in source.get("sources") or ():
        if token := one.get("serviceAccountToken"):
            token.setdefault("expirationSeconds", _TOKEN_SECONDS)
        if downward := one.get("downwardAPI"):
            _field_refs(downward)


def _host_path(source: Obj) -> None:
    source.setdefault("type", "")


def _iscsi(source: Obj) -> None:
    source.setdefault("iscsiInterface", "default")


def _rbd(source: Obj) -> None:
    source.setdefault("pool", "rbd")
    source.setdefault("user", "admin")
    source.setdefault("keyring", "/etc/ceph/keyring")


def _azure_disk(source: Obj) -> None:
    source.setdefault("cachingMode", "ReadWrite")
    source.setdefault("kind", "Shared")
    source.setdefault("fsType", "ext4")
    source.setdefault("readOnly", False)


def _scale_io(source: Obj) -> None:
    source.setdefault("storageMode", "ThinProvisioned")
    source.setdefault("fsType", "xfs")


def _image(source: Obj) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = "Always" if _tag(source.get("reference", "")) == "latest" else "IfNotPresent"


def _ephemeral(source: Obj) -> None:
    if template := source.get("volumeClaimTemplate"):
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


_VOLUMES: dict[str, Callable[[Any], None]] = {
    "secret": _mode,
    "configMap": _mode,
    "downwardAPI": _downward,
    "projected": _projected,
    "hostPath": _host_path,
    "iscsi": _iscsi,
    "rbd": _rbd,
    "azureDisk": _azure_disk,
    "scaleIO": _scale_io,
    "image": _image,
    "ephemeral": _ephemeral,
}


def default_volume(volume: Obj) -> None:
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name in sources:
        if (default := _VOLUMES.get(name)) is not None and isinstance(volume[name], dict):
            default(volume[name])
