"""Objects with every field that their type has, made from the types themselves.

Where a field takes only some words, its sample is one of them, so that a check goes on to what comes after it. An
object made so is mostly refused, by validation rather than by decoding, and says which checks there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from kinformer.envtest.registry import Resource
from kinformer.envtest.registry.schema import all_forms
from kinformer.meta.names import GroupVersionKind
from kinformer.models._resources import model_name_of
from kinformer.models._source import model_names, shape_of

__all__ = ("Place", "grown", "lists_of", "sample", "size_of")

Obj = dict[str, Any]
#: Where a list or an object of names stands in an object: the names and indexes that lead to it.
Place = tuple[str | int, ...]

_DEEPEST = 12
_WORDS: dict[str, Any] = {
    "name": "a",
    "namespace": "default",
    "priorityClassName": "",
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
    "generateName": "a-",
    "protocol": "TCP",
    "operator": "In",
    "effect": "NoSchedule",
    "whenUnsatisfiable": "DoNotSchedule",
    "restartPolicy": "Always",
    "dnsPolicy": "None",
    "imagePullPolicy": "Always",
    "image": "i",
    "mountPath": "/a",
    "path": "/a",
    "ip": "10.0.0.1",
    "podIP": "10.0.0.1",
    "hostIP": "10.0.0.1",
    "clusterIP": "",
    "cidr": "10.0.0.0/8",
    "except": "10.1.0.0/16",
    "addressType": "IPv4",
    "addresses": "10.0.0.1",
    "nameservers": "10.0.0.1",
    "accessModes": "ReadWriteOnce",
    "type": "",
    "pathType": "Prefix",
    "schedule": "* * * * *",
    "timeZone": "Etc/UTC",
    "apiVersion": "v1",
    "uid": "u",
    "resourceVersion": "",
    "deletionTimestamp": None,
    "expression": "true",
    "rule": "true",
    "policyName": "a",
    "url": "https://127.0.0.1:1/a",
    "sideEffects": "None",
    "admissionReviewVersions": "v1",
    "operations": "CREATE",
    "apiGroups": "apps",
    "apiVersions": "v1",
    "resources": "pods",
    "verbs": "get",
    "topologyKey": "a",
    "port": 80,
    "maxSkew": 1,
    "provisioner": "a/b",
    "driver": "a.b",
    "scope": "Namespaced",
    "group": "ex.io",
}
_TYPES: dict[str, Any] = {
    "str": "a",
    "int": 1,
    "float": 1.5,
    "bool": True,
    "datetime": "2020-01-01T00:00:00Z",
    "date": "2020-01-01",
    "object": "1",
}


def sample(resource: Resource) -> Obj:
    """An object of a resource with all that it can have."""
    obj = _copy(_of_type(model_name_of(GroupVersionKind(resource.group, resource.version, resource.kind)), ()))
    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
    metadata = obj.setdefault("metadata", {})
    metadata["name"] = "a"
    for name in (
        "managedFields",
        "resourceVersion",
        "uid",
        "generateName",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ):
        metadata.pop(name, None)
    if not resource.namespaced:
        obj["metadata"].pop("namespace", None)
    return obj


@cache
def _of_type(model: str, around: tuple[str, ...]) -> Obj:
    shape, forms = shape_of(model), all_forms().get(model, {})
    fields: Obj = {}
    for attribute, type_ in shape.types.items():
        name = shape.json_names[attribute]
        form = forms.get(name, "")
        special = "1" if "q" in form else "YQ==" if "b" in form else None
        value = _value(name, type_, (*around, model), special)
        if value is not None:
            fields[name] = value
    return fields


def _value(name: str, type_: str, around: tuple[str, ...], special: str | None = None) -> Any:
    if type_.startswith("list["):
        item = _value(name, type_[5:-1], around, special)
        return None if item is None else [item]
    if type_.startswith("dict("):
        item = _value(name, type_.partition(", ")[2][:-1], around, special)
        return None if item is None else {"a": item}
    if type_ in model_names():
        # A schema has schemas in it, and so on without an end.
        return None if type_ in around or len(around) > _DEEPEST else _of_type(type_, around)
    if special is not None:
        return special
    if name in _WORDS and (type_ == "str" or isinstance(_WORDS[name], int)):
        return _WORDS[name]
    return _TYPES.get(type_, "1")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def lists_of(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where there are lists, and objects with a name of somebody's own, in an object."""
    if isinstance(value, dict):
        if "a" in value and len(value) == 1:
            yield place
        for name, item in value.items():
            yield from lists_of(item, (*place, name))
    elif isinstance(value, list):
        yield place
        for index, item in enumerate(value):
            yield from lists_of(item, (*place, index))


def grown(obj: Obj, place: Place, times: int) -> Obj:
    """The object with so many items at a place, no two of them the same."""
    obj = _copy(obj)
    around: Any = obj
    for step in place[:-1]:
        around = around[step]
    value = around[place[-1]]
    if isinstance(value, dict):
        around[place[-1]] = {f"a{index}": _copy(value["a"]) for index in range(times)}
    else:
        around[place[-1]] = [_numbered(value[0], index) for index in range(times)]
    return obj


def _numbered(value: Any, number: int) -> Any:
    """A copy that differs from those of other numbers wherever a text can."""
    if isinstance(value, dict):
        return {name: _numbered(item, number) for name, item in value.items()}
    if isinstance(value, list):
        return [_numbered(item, number) for item in value]
    return f"a{number}" if value == "a" else value


def size_of(value: Any) -> int:
    """How many values there are in a value."""
    if isinstance(value, dict):
        return 1 + sum(map(size_of, value.values()))
    return 1 + sum(map(size_of, value)) if isinstance(value, list) else 1
