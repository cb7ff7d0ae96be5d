"""Defaults of pod specs, in pods and in pod templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.envtest.strategy.base import Obj
from kinformer.meta.quantity import Quantity

__all__ = ("default_pod", "default_pod_spec", "default_template", "default_volume", "default_volume_source")

_FILE_MODE = 420  # 0644
_TOKEN_SECONDS = 3600
_POD_RESOURCES = ("cpu", "memory")


def default_template(template: Obj) -> None:
    default_pod_spec(template.setdefault("spec", {}))


def default_pod(spec: Obj) -> None:
    """Set the defaults of a pod's own spec. Some of them are not set in templates."""
    default_pod_spec(spec)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
        for port in (container.get("ports") or ()) if spec.get("hostNetwork") else ():
            if not port.get("hostPort"):
                port["hostPort"] = port.get("containerPort", 0)
    if resources := spec.get("resources"):
        _default_pod_resources(spec, resources)
    spec.setdefault("enableServiceLinks", True)


def _default_pod_resources(spec: Obj, resources: Obj) -> None:
    """
    Set the requests of a pod that has limits as a whole: the sum of its containers' requests, otherwise the limits.
    """
    limits = resources.get("limits")
    if not limits:
        return
    requests: Obj = {**(resources.get("requests") or {})}
    asked = [(one.get("resources") or {}).get("requests") or {} for one in spec.get("containers") or ()]
    for name in _POD_RESOURCES:
        amounts = [Quantity.parse(one[name]) for one in asked if name in one]
        if amounts and name not in requests:
            requests[name] = str(Quantity.sum(amounts))
    for name, limit in limits.items():
        if name in _POD_RESOURCES or name.startswith("hugepages-"):
            requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests


def default_pod_spec(spec: Obj) -> None:
    """Set the defaults of a pod spec, in a pod or in a template."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if account := spec.get("serviceAccountName"):
        spec["serviceAccount"] = account
    elif account := spec.get("serviceAccount"):
        spec["serviceAccountName"] = account
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(name) or ():
            _default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)


def _default_container(container: Obj) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if _tag(container.get("image", "")) == "latest" else "IfNotPresent"
    container.setdefault("resources", {})
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe := container.get(name):
            _default_probe(probe)
    lifecycle = container.get("lifecycle") or {}
    for name in ("postStart", "preStop"):
        if handler := lifecycle.get(name):
            _default_handler(handler)
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if reference := source.get("fieldRef"):
            reference.setdefault("apiVersion", "v1")
        if reference := source.get("fileKeyRef"):
            reference.setdefault("optional", False)


def _tag(image: str) -> str:
    """The tag of an image. It is ``latest`` if the image has neither a tag nor a digest."""
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
    if (grpc := handler.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""


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
    default_volume_source(volume)


def default_volume_source(volume: Obj) -> None:
    """Set the defaults of a volume's source, also for a persistent volume."""
    for name in volume:
        if (default := _VOLUMES.get(name)) is not None and isinstance(volume[name], dict):
            default(volume[name])
