"""The OpenAPI documents of version 3: paths and types of each group and version.

They say what a program asks of the types: fields, their types, which lists are merged (for server-side apply, and for
kubectl's patches). Descriptions are missing. Types have kubernetes_asyncio's names.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from kinformer.envtest.apply.shapes import topology_of
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.registry.schema import forms_of, model_of
from kinformer.meta.patch.schema import TYPES, Field
from kinformer.models._source import CONTAINER, model_names, parts_of_type, shape_of

__all__ = ("openapi_document", "openapi_index")

Document = dict[str, Any]

_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]
_PLAIN: dict[str, Document] = {
    "str": {"type": "string"},
    "int": {"type": "integer", "format": "int32"},
    "float": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
}
#: By the mark of a field; see ``registry/forms.txt``.
_MARKED: dict[str, Document] = {
    "q": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "b": {"type": "string", "format": "byte"},
    "i": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "u": {"type": "string", "format": "date-time"},
    "L": {"type": "integer", "format": "int64"},
}
_PREFIX = re.compile(r"^[A-Za-z]*?V\d+(?:(?:alpha|beta)\d+)?(?=[A-Z])")


def openapi_index(registry: Registry) -> Document:
    """Where the documents are."""
    paths = {}
    for group, version in registry.group_versions():
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={hash((group, version)) & 0xFFFFFFFF:08X}"}
    return {"paths": paths}


def openapi_document(registry: Registry, group: str, version: str, release: str) -> Document | None:
    """
    The document of a group and version. None if it is not served.

    :param release: the version of the server
    """
    if not registry.has_group_version(group, version):
        return None
    paths: Document = {}
    schemas: Document = {}
    for resource in registry.resources(group, version):
        base = f"/apis/{group}/{version}" if group else f"/api/{version}"
        place = "/namespaces/{namespace}" if resource.namespaced else ""
        kind = {"group": group, "version": version, "kind": resource.kind}
        answer = {"x-kubernetes-group-version-kind": kind, "responses": {"200": {"description": "OK"}}}
        # kubectl reads there that the server validates fields, and then does not validate them itself.
        operations: Document = {"patch": {**answer, "x-kubernetes-action": "patch", "parameters": _PARAMETERS}}
        paths[f"{base}{place}/{resource.plural}/{{name}}"] = operations
        if (described := _kind(resource, schemas)) is not None:
            name, schema = described
            schemas[name] = {**schema, "x-kubernetes-group-version-kind": [kind]}
    about = {"title": "Kubernetes", "version": release}
    return {"openapi": "3.0.0", "info": about, "paths": paths, "components": {"schemas": schemas}}


def _kind(resource: Resource, schemas: Document) -> tuple[str, Document] | None:
    """The name and the schema of a kind. The types within it are added to `schemas`."""
    if resource.definition is not None:
        schema = resource.schema or {"type": "object"}
        _add("V1ObjectMeta", schemas)
        of_all = {
            "apiVersion": _PLAIN["str"],
            "kind": _PLAIN["str"],
            "metadata": {"allOf": [_reference("V1ObjectMeta")]},
        }
        name = ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
        return name, {**schema, "properties": {**(schema.get("properties") or {}), **of_all}}
    if (model := model_of(resource)) is None:
        return None
    _add(model, schemas)
    return _name(model), schemas[_name(model)]


def _add(model: str, schemas: Document) -> None:
    if (name := _name(model)) in schemas:
        return
    schemas[name] = _type(model)
    for type_ in shape_of(model).types.values():
        for part in parts_of_type(type_):
            if part in model_names():
                _add(part, schemas)


def _name(model: str) -> str:
    return "io.k8s." + _PREFIX.sub(r"\g<0>.", model)  # kubectl explain shows what is behind the last dot


def _reference(model: str) -> Document:
    return {"$ref": f"#/components/schemas/{_name(model)}"}


@cache
def _type(model: str) -> Document:
    shape, forms, merged = shape_of(model), forms_of(model), topology_of(model)
    patched = TYPES.get(_PREFIX.sub("", model), {})
    properties = {}
    for attribute, type_ in shape.types.items():
        name = shape.json_names[attribute]
        schema = _schema(type_, forms.get(name, ""))
        properties[name] = {**schema, **_merging(type_, merged.get(name), patched.get(name))}
    atomic = {"x-kubernetes-map-type": "atomic"} if "" in merged else {}
    return {"type": "object", "properties": properties, **atomic}


def _schema(type_: str, form: str) -> Document:
    if found := CONTAINER.fullmatch(type_):
        if found["item"]:
            return {"type": "array", "items": _schema(found["item"], form)}
        return {"type": "object", "additionalProperties": _schema(found["value"], form)}
    if "r" in form:
        return {"x-kubernetes-preserve-unknown-fields": True}
    marked = next((schema for mark, schema in _MARKED.items() if mark in form), None)
    if marked is not None and type_ not in model_names():
        return marked
    return _PLAIN[type_] if type_ in _PLAIN else {"allOf": [_reference(type_)], "default": {}}


def _merging(type_: str, mark: str | None, patched: Field | None) -> Document:
    """How a field is merged: by server-side apply, and by strategic merge patches."""
    how: Document = {}
    if type_.startswith("list["):
        keys = (mark or "").lstrip("=")
        how["x-kubernetes-list-type"] = "atomic" if mark is None else "map" if keys else "set"
        if keys:
            how["x-kubernetes-list-map-keys"] = keys.split(",")
    elif mark == "!":
        how["x-kubernetes-map-type"] = "atomic"
    if patched is not None:
        strategies = ["merge"] * patched.merge + ["replace"] * patched.replace + ["retainKeys"] * patched.retain_keys
        if strategies:
            how["x-kubernetes-patch-strategy"] = ",".join(strategies)
        if patched.key:
            how["x-kubernetes-patch-merge-key"] = patched.key
    return how
