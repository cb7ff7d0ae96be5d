"""Schemas: makes the schema of a CustomResourceDefinition from the Python types of a custom resource.

The result is a *structural schema* of the API (an OpenAPI v3 schema of apiextensions, without references and
alternatives). It has descriptions, defaults, enumerations, ranges, and Kubernetes' extensions
(:mod:`kinformer.operator.markers`). A type that cannot be expressed in such a schema is an error with the path of the
field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect as types

from kinformer.meta import Quantity
from kinformer.models import Model, OpenStruct, encode

__all__ = ("Schema", "SchemaError", "annotated", "default_of", "description_of", "schema_of", "with_rules")

#: An OpenAPI v3 schema, as a dict.
Schema = dict[str, Any]

#: The key of the CEL rules.
_VALIDATIONS: Final = "x-kubernetes-validations"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"

#: The models do not say which fields of the API's types are required, and which are quantities.
_REQUIRED: Final = {"V1Condition": ("lastTransitionTime", "message", "reason", "status", "type")}
#: What Kubernetes itself says of the fields of a condition (``metav1.Condition``): the server checks it.
_CONDITION: Final[dict[str, Schema]] = {
    "type": {
        "maxLength": 316,
        "pattern": (
            r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        ),
    },
    "status": {"enum": ["True", "False", "Unknown"]},
    "observedGeneration": {"minimum": 0},
    "reason": {"minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
    "message": {"maxLength": 32768},
}
_QUANTITIES: Final = {"V1ResourceRequirements": ("limits", "requests")}
#: Each type of condition is in a list once (API conventions, "Typical status properties").
_CONDITIONS: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
_QUANTITY: Final = {"x-kubernetes-int-or-string": True}


class SchemaError(TypeError):
    """
    A type cannot be expressed in a definition.

    :param path: the path of the field, such as ``spec.ports[]``
    :param what: what is wrong
    """

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")


def schema_of(type_: Any, path: str = "", *, defaults: bool = True) -> Schema:
    """
    Make the structural schema of a type.

    :param path: the path of the field, for errors
    :param defaults: False for a status. It has no defaults, because users do not write it. None of its own fields is
        required, because an operator may write one after the other
    :raises SchemaError: if the type cannot be expressed in a definition
    """
    return _Maker(defaults).schema(types.type_info(type_), path, ())


class _Maker:
    """Makes schemas from msgspec's descriptions of types."""

    def __init__(self, defaults: bool) -> None:
        self._defaults = defaults

    def schema(self, type_: types.Type, path: str, within: tuple[type, ...]) -> Schema:
        if isinstance(type_, types.Metadata):
            return _merged(self.schema(type_.type, path, within), type_.extra_json_schema or {})
        if isinstance(type_, types.UnionType):
            return self._union(type_, path, within)
        if isinstance(type_, types.StructType):
            return self._struct(type_, path, within)
        if isinstance(type_, (types.ListType, types.VarTupleType)):
            items = self.schema(type_.item_type, f"{path}[]", within)
            made = {"type": "array", "items": items, **_sizes(type_, "Items")}
            return {**made, **_CONDITIONS} if _called(type_.item_type) == "V1Condition" else made
        if isinstance(type_, types.DictType):
            return self._dict(type_, path, within)
        if isinstance(type_, types.CustomType) and issubclass(type_.cls, OpenStruct):
            return self._open_struct(type_.cls, path, within)
        make = _PLAIN.get(type(type_))
        if make is None:
            want = _REMEDIES.get(type(type_), "want a type of the table in docs/operators.md, such as str or Fields")
            raise SchemaError(path, f"{_called(type_)} cannot be expressed in a definition: {want}")
        made = make(type_)
        if "enum" in made and "type" not in made:
            raise SchemaError(path, f"the values {made['enum']} are of several types: want texts alone, or integers")
        return made

    def _open_struct(self, cls: type[OpenStruct], path: str, within: tuple[type, ...]) -> Schema:
        declared = types.type_info(cls.__known__)
        assert isinstance(declared, types.StructType)
        made = {**self._struct(declared, path, within), _PRESERVE: True}
        return with_rules(_described(made, cls), cls, path)

    def _struct(self, type_: types.StructType, path: str, within: tuple[type, ...]) -> Schema:
        cls = type_.cls
        if cls in within:
            # A schema cannot refer to itself, so a recursive type is not checked below this level.
            return {"type": "object", _PRESERVE: True}
        if cls is Quantity:
            raise SchemaError(path, "a Quantity is no text in JSON: want int | str, and Quantity.parse(…) of its value")
        if type_.tag is not None or type_.array_like:
            raise SchemaError(path, f"{cls.__name__} has tag= or array_like=, which a definition cannot express")
        properties: dict[str, Schema] = {}
        for field in type_.fields:
            inner = f"{path}.{field.encode_name}" if path else field.encode_name
            properties[field.encode_name] = self._field(field, inner, (*within, cls))
        made: Schema = {"type": "object"}
        if properties:
            made["properties"] = properties
        required = [field.encode_name for field in type_.fields if field.required]
        if issubclass(cls, Model):
            required = list(_REQUIRED.get(cls.__name__, ()))
            for name in _QUANTITIES.get(cls.__name__, ()):
                properties[name] = {"type": "object", "additionalProperties": dict(_QUANTITY)}
            if cls.__name__ == "V1Condition":
                for name, said in _CONDITION.items():
                    properties[name] |= said
        if required and (self._defaults or within):
            made["required"] = required
        return with_rules(_described(made, cls), cls, path)

    def _field(self, field: types.Field, path: str, within: tuple[type, ...]) -> Schema:
        made = self.schema(field.type, path, within)
        if not self._defaults:
            return made
        default = default_of(field, path)
        return made if default is None else {"default": default, **made}

    def _union(self, type_: types.UnionType, path: str, within: tuple[type, ...]) -> Schema:
        options = [option for option in type_.types if not isinstance(option, types.NoneType)]
        if len(options) == 1:
            return self.schema(options[0], path, within)
        if {type(option) for option in options} == {types.IntType, types.StrType}:
            return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
        named = " | ".join(map(_called, options))
        raise SchemaError(path, f"{named}: want one type, perhaps with None, or int | str")

    def _dict(self, type_: types.DictType, path: str, within: tuple[type, ...]) -> Schema:
        if not isinstance(type_.key_type, (types.StrType, types.AnyType)):
            raise SchemaError(path, f"a dict's keys are {_called(type_.key_type)}: want str")
        if isinstance(type_.value_type, types.AnyType):
            return {"type": "object", _PRESERVE: True}
        values = self.schema(type_.value_type, f"{path}.*", within)
        return {"type": "object", "additionalProperties": values, **_sizes(type_, "Properties")}


def default_of(field: types.Field | msgspec.structs.FieldInfo, path: str) -> Any:
    """
    The default of a field as JSON has it, None if there is none.

    A nested Struct leaves out fields that have their own defaults: the server fills them in by its schema. An empty
    list or dict is no default, because absent and empty mean the same (API conventions, "Optional vs. Required").
    """
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
        if default != field.default_factory():
            raise SchemaError(path, "its default is another one each time, which a definition cannot express")
    if default is msgspec.NODEFAULT or default is None or default in ([], {}):
        return None
    try:
        return msgspec.json.decode(encode(default))
    except (TypeError, NotImplementedError) as error:
        raise SchemaError(path, f"the default {default!r} cannot be written as JSON") from error


def _string(type_: Any) -> Schema:
    made: Schema = {"type": "string", **_sizes(type_, "Length")}
    return {**made, "pattern": type_.pattern} if type_.pattern else made


def _number(name: str, more: Mapping[str, Any]) -> Callable[[Any], Schema]:
    def make(type_: Any) -> Schema:
        made: Schema = {"type": name, **more}
        if type_.ge is not None:
            made["minimum"] = type_.ge
        if type_.gt is not None:
            made |= {"minimum": type_.gt, "exclusiveMinimum": True}
        if type_.le is not None:
            made["maximum"] = type_.le
        if type_.lt is not None:
            made |= {"maximum": type_.lt, "exclusiveMaximum": True}
        if type_.multiple_of is not None:
            made["multipleOf"] = type_.multiple_of
        return made

    return make


def _choice(values: Any) -> Schema:
    kinds = {type(value) for value in values}
    name = {frozenset({str}): "string", frozenset({int}): "integer"}.get(frozenset(kinds))
    return {"type": name, "enum": list(values)} if name else {"enum": list(values)}


def _format(name: str) -> Callable[[Any], Schema]:
    return lambda _: {"type": "string", "format": name}


_PLAIN: Final[dict[type, Callable[[Any], Schema]]] = {
    types.StrType: _string,
    types.IntType: _number("integer", {"format": "int64"}),
    types.FloatType: _number("number", {}),
    types.BoolType: lambda _: {"type": "boolean"},
    types.DateTimeType: _format("date-time"),
    types.DateType: _format("date"),
    types.BytesType: _format("byte"),
    types.UUIDType: _format("uuid"),
    types.AnyType: lambda _: {_PRESERVE: True},
    types.RawType: lambda _: {_PRESERVE: True},
    types.EnumType: lambda type_: _described(_choice([member.value for member in type_.cls]), type_.cls),
    types.LiteralType: lambda type_: _choice(type_.values),
}


#: What to write in place of types that have no form in a definition, or another one than users of the API expect.
_REMEDIES: Final[dict[type, str]] = {
    types.TimeDeltaType: "want a number, such as timeout_seconds: int",
    types.TimeType: "want str, with a pattern",
    types.DecimalType: "want int | str, and Quantity.parse(…) of its value",
    types.SetType: "want a list with list_set(), such as Annotated[list[str], list_set()]",
    types.FrozenSetType: "want a list with list_set(), such as Annotated[list[str], list_set()]",
    types.TupleType: "want a list, or a class of Fields",
    types.DataclassType: "want a class of Fields",
    types.TypedDictType: "want a class of Fields",
    types.NamedTupleType: "want a class of Fields",
}


def _sizes(type_: Any, what: str) -> Schema:
    made: Schema = {}
    if type_.min_length is not None:
        made[f"min{what}"] = type_.min_length
    if type_.max_length is not None:
        made[f"max{what}"] = type_.max_length
    return made


def _merged(schema: Schema, said: Mapping[str, Any]) -> Schema:
    merged = {name: value for name, value in {**schema, **said}.items() if value is not None}
    if "properties" in schema and "properties" in said:
        merged["properties"] = {
            **schema["properties"],
            **{name: {**schema["properties"].get(name, {}), **words} for name, words in said["properties"].items()},
        }
    rules = [*schema.get(_VALIDATIONS, ()), *said.get(_VALIDATIONS, ())]
    if rules:
        merged[_VALIDATIONS] = rules
    if merged.get("type") == "object" and "x-kubernetes-list-type" in merged:
        merged["x-kubernetes-map-type"] = merged.pop("x-kubernetes-list-type")
    return merged


def with_rules(schema: Schema, cls: type, path: str) -> Schema:
    """
    Add what the class variable ``rules`` of a class says to the schema of the class.

    :param path: the path of the field, for errors
    :raises SchemaError: if `rules` has anything but markers
    """
    if "rules" in getattr(cls, "__struct_fields__", ()):
        return schema  # a field of the objects, as in V1PodFailurePolicy
    for marker in getattr(cls, "rules", ()):
        if not isinstance(marker, msgspec.Meta) or not marker.extra_json_schema:
            raise SchemaError(path, f"its rules have {marker!r}: want rule(…) or another marker")
        schema = _merged(schema, marker.extra_json_schema)
    return schema


def _described(schema: Schema, cls: type) -> Schema:
    text = description_of(cls)
    return {"description": text, **schema} if text else schema


def annotated(schema: Schema, type_: Any) -> Schema:
    """Add what the annotations of a type say to a schema."""
    info = types.type_info(type_)
    return _merged(schema, info.extra_json_schema or {}) if isinstance(info, types.Metadata) else schema


def description_of(cls: type) -> str:
    """The docstring of a class. Those of models are left out, because they do not describe the objects."""
    return "" if issubclass(cls, Model) else inspect.cleandoc(cls.__dict__.get("__doc__") or "")


def _called(type_: types.Type) -> str:
    cls = getattr(type_, "cls", None)
    return cls.__name__ if cls is not None else type(type_).__name__.removesuffix("Type").lower()
