"""Defaults of pod specs, in pods and in pod templates."""

from __future__ import annotations

import re
from typing import Any

from kinformer.envtest.strategy.declared import defaults_of_part, fill
from kinformer.meta.quantity import Quantity

__all__ = ("default_pod", "default_template")

Obj = dict[str, Any]

_POD_RESOURCES = ("cpu", "memory")


def default_template(template: Obj) -> None:
    _default_spec(template.setdefault("spec", {}))


def default_pod(spec: Obj) -> None:
    """Set the defaults of a pod's own spec. Some of them are not set in templates."""
    _default_spec(spec)
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


def _default_spec(spec: Obj) -> None:
    """Set the defaults of a pod spec, in a pod or in a template."""
    fill(spec, defaults_of_part("pod spec"))
    if account := spec.get("serviceAccountName"):
        spec["serviceAccount"] = account
    elif account := spec.get("serviceAccount"):
        spec["serviceAccountName"] = account
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(name) or ():
            if not container.get("imagePullPolicy"):
                container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
    for volume in spec.get("volumes") or ():
        if (len(volume) == 1 and "name" in volume) or not volume:
            volume["emptyDir"] = {}
        elif (image := volume.get("image")) is not None and not image.get("pullPolicy"):
            image["pullPolicy"] = _pull_policy(image.get("reference", ""))


_is_component = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*").fullmatch


def _pull_policy(image: str) -> str:
    return "Always" if _tag(image) == "latest" else "IfNotPresent"


def _tag(image: str) -> str:
    """The tag of an image. ``latest`` if the image has neither a tag nor a digest, empty if it is not a reference."""
    name, _, digest = image.partition("@")
    head, slash, rest = name.partition("/")
    if slash and (head == "localhost" or "." in head or ":" in head or head != head.lower()):
        name = rest  # the registry is left out
    repository, _, tag = name.partition(":")
    if not all(map(_is_component, repository.split("/"))):
        return ""
    return tag or ("" if digest else "latest")
