"""Warnings about pods that are valid but probably not intended. The texts and their order are kube-apiserver's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinformer.envtest.datafiles import read_yaml
from kinformer.meta.quantity import Quantity

__all__ = ("pod_warnings",)

Obj = dict[str, Any]

_AFFINITIES = ("podAffinity", "podAntiAffinity")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_SELECTOR = "a null labelSelector results in matching no pod"


def _old_names(of: str) -> dict[str, str]:
    names: dict[str, str] = read_yaml(__package__, "old_names.yaml")[of]
    return names


def pod_warnings(pod: Obj, path: str = "") -> Iterator[str]:
    """
    The warnings about a pod or a pod template.

    :param path: the path of the template, with a dot at the end. Empty for a pod
    """
    old_labels = _old_names("labels")
    spec, annotations = pod.get("spec") or {}, (pod.get("metadata") or {}).get("annotations") or {}
    here = f"{path}spec"
    affinity = spec.get("affinity") or {}
    for label in spec.get("nodeSelector") or ():
        if label in old_labels:
            yield f"{here}.nodeSelector[{label}]: {old_labels[label]}"
    if nodes := affinity.get("nodeAffinity"):
        yield from _node_terms(nodes, f"{here}.affinity.nodeAffinity")
    yield from _spread(spec.get("topologySpreadConstraints") or (), f"{here}.topologySpreadConstraints")
    for name, text in _old_names("annotations").items():
        if name in annotations:
            yield f"{path}metadata.annotations[{name}]: {text}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        for name, text in _old_names("volumes").items():
            if name in volume:
                yield f"{here}.volumes[{index}].{name}: {text}"
    yield from _repeated(spec.get("hostAliases") or (), "ip", f"{here}.hostAliases")
    yield from _pull_secrets(spec.get("imagePullSecrets") or (), f"{here}.imagePullSecrets")
    yield from _parts_of_bytes(spec.get("overhead"), f"{here}.overhead")
    yield from _containers(spec, here)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        told = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{here}.terminationGracePeriodSeconds: {told}"
    for kind in _AFFINITIES:
        yield from _pod_terms(affinity.get(kind) or {}, f"{here}.affinity.{kind}")


def _spread(constraints: Any, path: str) -> Iterator[str]:
    old_labels = _old_names("labels")
    for index, constraint in enumerate(constraints):
        key = constraint.get("topologyKey", "")
        if key in old_labels:
            yield f"{path}[{index}].topologyKey: {key} is {old_labels[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{path}[{index}].labelSelector: {_NO_SELECTOR}"


def _pull_secrets(secrets: Any, path: str) -> Iterator[str]:
    yield from _repeated(secrets, "name", path)
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{path}[{index}].name: invalid empty name ""'


def _containers(spec: Obj, path: str) -> Iterator[str]:
    containers = [
        (container, f"{path}.{kind}[{index}]")
        for kind in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(spec.get(kind) or ())
    ]
    for container, place in containers:
        resources = container.get("resources") or {}
        for kind in ("limits", "requests"):
            yield from _parts_of_bytes(resources.get(kind), f"{place}.resources.{kind}")
        if len(variables := container.get("env") or ()) > 1:
            yield from _hidden_variables(variables, f"{place}.env")
    yield from _ports(containers)


def _pod_terms(affinity: Obj, path: str) -> Iterator[str]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        if term.get("labelSelector") is None:
            yield f"{path}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
            yield f"{path}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"


def _node_terms(affinity: Obj, path: str) -> Iterator[str]:
    old_labels = _old_names("labels")
    terms = [
        (term, f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]")
        for index, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ())
    ]
    terms += [
        (term.get("preference") or {}, f"{path}.{_PREFERRED}[{index}].preference")
        for index, term in enumerate(affinity.get(_PREFERRED) or ())
    ]
    for term, here in terms:
        for index, one in enumerate(term.get("matchExpressions") or ()):
            if (key := one.get("key")) in old_labels:
                yield f"{here}.matchExpressions[{index}].key: {key} is {old_labels[key]}"


def _repeated(items: Any, name: str, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(name, "")
        if value in seen:
            yield f'{path}[{index}].{name}: duplicate {name} "{value}"'
        seen.add(value)


def _parts_of_bytes(amounts: Obj | None, path: str) -> Iterator[str]:
    for name in ("memory", "ephemeral-storage"):
        text = (amounts or {}).get(name)
        # Only an amount in thousandths can have parts of bytes. Most amounts are not, so they need no parsing.
        if text and text[-1] == "m" and Quantity.parse(text).milli_value() % 1000:
            yield f'{path}[{name}]: fractional byte value "{text}" is invalid, must be an integer'


def _hidden_variables(variables: Any, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        # A variable that extends its previous value is fine: PATH=$(PATH):/more.
        builds_on = variable.get("valueFrom") is None and reference in value and value != reference
        if name in seen and not builds_on:
            yield f'{path}[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _ports(containers: list[tuple[Obj, str]]) -> Iterator[str]:
    ports = [
        (port, f"{place}.ports[{index}]")
        for container, place in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    seen: dict[tuple[int, str], list[tuple[Obj, str]]] = {}
    for port, here in ports:
        others = seen.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
        address, number = port.get("hostIP", ""), port.get("hostPort", 0)
        for other, place in others:
            its_address, its_number = other.get("hostIP", ""), other.get("hostPort", 0)
            if (address, number) == (its_address, its_number):
                yield f"{here}: duplicate port definition with {place}"
            elif not number or not its_number:
                yield f"{here}: overlapping port definition with {place}"
            elif number == its_number and bool(address) != bool(its_address):
                yield f"{here}: dangerously ambiguous port definition with {place}"
        others.append((port, here))
    names: dict[str, str] = {}
    for port, here in ports:
        if not (name := port.get("name")):
            continue
        if (first := names.setdefault(name, here)) != here:
            told = f'duplicate port name "{name}" with {first}'
            yield f"{here}: {told}, services and probes that select ports by name will use {first}"
