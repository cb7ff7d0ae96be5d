"""CustomResourceDefinitions, made from the classes of custom resources.

A definition is made from one or more classes, one for each version of a kind. With the definition, the server serves
and checks the objects. Print it with ``kinformer crd my_package``, or install it with :func:`install`, which waits
until the server serves the objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

import msgspec

from kinformer.arguments import want
from kinformer.client import Client, ListOptions, NotFound
from kinformer.clock import Clock, RealClock, move_on_after
from kinformer.controllerutil.conditions import get_condition, is_condition_true
from kinformer.models import OpenStruct, ResourceInfo, V1CustomResourceDefinition, from_dict, is_open, resource_for
from kinformer.operator.custom_resource import Column, CustomResource
from kinformer.operator.schema import Schema, SchemaError, annotated, default_of, description_of, schema_of, with_rules

__all__ = ("DefinitionNotEstablished", "definition_of", "install")

_FIELD_MANAGER: Final = "kinformer"

#: Seconds after which :func:`install` checks again whether the server serves the objects.
_LOOK_AGAIN: Final = 0.05

#: The types that both a field in a schema and a column can have.
_COLUMN_TYPES: Final = frozenset({"string", "integer", "number", "boolean"})


#: The fields that every object has, and their types in a schema.
_GIVEN: Final = {"apiVersion": "string", "kind": "string", "metadata": "object"}


class DefinitionNotEstablished(Exception):
    """The server has a definition, but does not serve its objects."""


def definition_of(*types: type[CustomResource[Any, Any]]) -> V1CustomResourceDefinition:
    """
    Make the definition of one kind.

    :param types: the classes of the kind, one for each version. The one with `storage` is the stored version
    :raises ValueError: if the classes are of different kinds, or not exactly one of them has `storage`
    :raises SchemaError: if the type of a field cannot be expressed in a definition, or the path of a column or of
        `scale` does not exist
    """
    if not types:
        raise ValueError("a definition needs a class at least")
    for type_ in types:
        want(type_, hasattr(type_, "__definition__"), "the class of a definition", "a subclass of CustomResource")
    infos = [resource_for(type_) for type_ in types]
    first = infos[0]
    for type_, info in zip(types, infos, strict=True):
        if (info.group, info.kind, info.plural, info.namespaced) != (
            first.group,
            first.kind,
            first.plural,
            first.namespaced,
        ):
            raise ValueError(
                f"{type_.__qualname__} is {info.gvr.group_resource} ({info.kind}) and "
                f"{types[0].__qualname__} is {first.gvr.group_resource} ({first.kind}): "
                "want versions of one kind, with one scope"
            )
    _check_versions(first, types, infos)
    stored = next(type_ for type_ in types if type_.__definition__.storage)
    options = stored.__definition__
    names: dict[str, Any] = {
        "plural": first.plural,
        "singular": options.singular,
        "kind": first.kind,
        "listKind": options.list_kind or f"{first.kind}List",
    }
    if options.short_names:
        names["shortNames"] = list(options.short_names)
    if options.categories:
        names["categories"] = list(options.categories)
    return from_dict(
        V1CustomResourceDefinition,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": str(first.gvr.group_resource)},
            "spec": {
                "group": first.group,
                "names": names,
                "scope": "Namespaced" if first.namespaced else "Cluster",
                "versions": [_version(type_, info) for type_, info in zip(types, infos, strict=True)],
            },
        },
    )


def _check_versions(first: ResourceInfo, types: Sequence[type[Any]], infos: Sequence[ResourceInfo]) -> None:
    called = first.gvr.group_resource
    versions = [info.version for info in infos]
    if twice := sorted({version for version in versions if versions.count(version) > 1}):
        raise ValueError(f"{called} has the version {twice[0]} twice")
    stored = [info.version for type_, info in zip(types, infos, strict=True) if type_.__definition__.storage]
    if len(stored) != 1:
        raise ValueError(
            f"{called} is stored in {' and '.join(stored) or 'no version'}: want one, and storage=False in the class "
            "statements of the others"
        )


def _version(type_: type[CustomResource[Any, Any]], info: ResourceInfo) -> dict[str, Any]:
    options = type_.__definition__
    schema = _whole_schema(type_)
    made: dict[str, Any] = {
        "name": info.version,
        "served": options.served,
        "storage": options.storage,
        "schema": {"openAPIV3Schema": schema},
    }
    subresources: dict[str, Any] = {}
    if "status" in schema["properties"] if options.status_subresource is None else options.status_subresource:
        subresources["status"] = {}
    if options.scale is not None:
        paths = {
            "specReplicasPath": options.scale.spec_replicas,
            "statusReplicasPath": options.scale.status_replicas,
            "labelSelectorPath": options.scale.selector,
        }
        subresources["scale"] = {name: _path_in(schema, path, type_) for name, path in paths.items() if path}
    if subresources:
        made["subresources"] = subresources
    if options.columns:
        made["additionalPrinterColumns"] = [_column(column, schema, type_) for column in options.columns]
    if options.selectable:
        made["selectableFields"] = [{"jsonPath": _path_in(schema, path, type_)} for path in options.selectable]
    if options.deprecated:
        made["deprecated"] = True
        if isinstance(options.deprecated, str):
            made["deprecationWarning"] = options.deprecated
    return made


def _whole_schema(type_: type[CustomResource[Any, Any]]) -> Schema:
    properties: dict[str, Schema] = {}
    required = []
    for field in msgspec.structs.fields(type_):
        name = field.encode_name
        # A resource without a spec or a status has None as its type.
        if field.type in (type(None), None) or (field.name == "extra" and is_open(type_)):
            continue
        if name in _GIVEN:
            properties[name] = annotated({"type": _GIVEN[name]}, field.type)
            continue
        properties[name] = schema_of(field.type, name, defaults=name != "status")
        if name != "status" and (default := default_of(field, name)) is not None:
            properties[name] = {"default": default, **properties[name]}
        if field.required:
            required.append(name)
    made: Schema = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    if is_open(type_):
        made["x-kubernetes-preserve-unknown-fields"] = True
    if text := description_of(type_):
        made = {"description": text, **made}
    return with_rules(made, type_, type_.__qualname__)


def _column(column: Column, schema: Schema, type_: type[Any]) -> dict[str, Any]:
    path = _json_path(column.path, type_)
    kind = column.type or _column_type(_found(schema, path, type_))
    made: dict[str, Any] = {"name": column.name, "type": kind, "jsonPath": path}
    if column.format:
        made["format"] = column.format
    if column.description:
        made["description"] = column.description
    if column.priority:
        made["priority"] = column.priority
    return made


def _column_type(schema: Schema) -> str:
    if schema.get("format") == "date-time":
        return "date"
    kind = schema.get("type")
    return kind if kind in _COLUMN_TYPES else "string"


def _path_in(schema: Schema, path: str, type_: type[Any]) -> str:
    """
    The JSON path of a field of a schema.

    :raises SchemaError: if the schema has no such field
    """
    made = _json_path(path, type_)
    _found(schema, made, type_)
    return made


def _json_path(path: str, type_: type[Any]) -> str:
    """
    The JSON path of a field: ``status.ready_replicas``, as attributes of the class, is ``.status.readyReplicas``.

    :raises SchemaError: if a class has no such attribute, or the path is neither attributes nor a JSON path
    """
    if path.startswith("."):
        return path
    if not re.fullmatch(r"[a-z]\w*(\.\w+|\[[^]]+\])*", path):
        raise SchemaError(
            f"{type_.__qualname__}: {path}",
            "this is no path: want attributes, such as status.ready_replicas, or JSON, such as .status.readyReplicas",
        )
    made, within = "", type_
    # A filter of a list, as in "status.conditions[?(@.type=='Ready')].status", is written as it is in JSON.
    for attribute, chosen in re.findall(r"(\w+)((?:\[[^]]+\])*)", path):
        struct = next((found for option in (within, *_options(within)) if (found := _struct_of(option))), None)
        name = attribute  # a key of a dict, if no class has it
        if struct is not None:
            fields = {field.name: (field.encode_name, field.type) for field in msgspec.structs.fields(struct)}
            if attribute not in fields:
                raise SchemaError(f"{type_.__qualname__}: {path}", f"{struct.__name__} has no attribute {attribute!r}")
            name, within = fields[attribute]
        made += f".{name}{chosen}"
    return made


def _struct_of(type_: Any) -> type[msgspec.Struct] | None:
    """The Struct with the fields of a class; None for other types."""
    if not isinstance(type_, type):
        return None
    if issubclass(type_, OpenStruct):
        return type_.__known__
    return type_ if issubclass(type_, msgspec.Struct) else None


def _options(type_: Any) -> Iterator[Any]:
    for option in get_args(type_):
        yield option
        yield from _options(option)


def _found(schema: Schema, path: str, type_: type[Any]) -> Schema:
    """The schema of the field at a path; an empty one if the path has more than plain names."""
    if path.startswith(".metadata."):
        return {"type": "string", **({"format": "date-time"} if path.endswith("Timestamp") else {})}
    if not path.startswith(".") or any(sign in path for sign in "[]\\@?"):
        return {}
    found = schema
    for name in path[1:].split("."):
        if "properties" not in found:
            return {}
        if name not in found["properties"]:
            raise SchemaError(
                f"{type_.__qualname__}: {path}",
                f"there is no field {name!r}: want one of {', '.join(found['properties'])}",
            )
        found = found["properties"][name]
    return found


async def install(
    client: Client,
    *types: type[CustomResource[Any, Any]],
    field_manager: str = _FIELD_MANAGER,
    timeout: float = 60.0,
    clock: Clock | None = None,
) -> V1CustomResourceDefinition:
    """
    Apply the definition of a custom resource, and wait until its objects can be written.

    If the definition is installed already, nothing changes. All versions of a kind must be given together::

        await install(client, WebApp)

    :param types: the classes of one kind
    :param field_manager: the field manager that applies the definition
    :param timeout: seconds to wait until the server serves the objects
    :return: the definition
    :raises DefinitionNotEstablished: if the server does not serve the objects in time; the text has the reason
    :raises Invalid: if the server refuses the definition
    """
    clock = clock or RealClock()
    definitions = client.resource(V1CustomResourceDefinition)
    applied = await definitions.apply(definition_of(*types), field_manager=field_manager, force=True)
    name = applied.metadata.name or ""
    with move_on_after(clock, timeout) as waiting:
        while not _is_established(applied):
            await clock.sleep(_LOOK_AGAIN)
            applied = await definitions.get(name)
        # The condition may be true before each of several API servers serves the objects.
        while True:
            try:
                await client.resource(types[0]).list(options=ListOptions(limit=1))
                break
            except NotFound:
                await clock.sleep(_LOOK_AGAIN)
        client.discovery.invalidate()
    if waiting.cancelled_caught:
        raise DefinitionNotEstablished(f"{name} is not served after {timeout:g} s: {_complaint(applied)}")
    return applied


def _is_established(definition: V1CustomResourceDefinition) -> bool:
    return is_condition_true(definition.status.conditions if definition.status else None, "Established")


def _complaint(definition: V1CustomResourceDefinition) -> str:
    conditions = definition.status.conditions if definition.status else None
    found = get_condition(conditions, "NamesAccepted")
    if found is not None and found.status != "True":
        return found.message or found.reason or "its names are not accepted"
    return "it is not established"
