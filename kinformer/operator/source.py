"""Source: writes the Python classes of custom resources from their CustomResourceDefinition.

:func:`source_of` is the way back of :func:`~kinformer.operator.definition_of`: the definition of the classes has the
same versions, names and schemas. Each schema gets the nearest Python type. What this type alone does not express is
added as an annotation, so nothing of a schema is lost:

- An object with fields is a class of ``Fields``. Objects with the same schema share one class.
- A description is a docstring, or ``Meta(description=…)``.
- An enumeration is a ``Literal``, and an int-or-string is ``int | str``. The values of an enumeration come back sorted.
- An object that may have fields beside those of its schema is a class of ``OpenFields``, which keeps them in its
  `extra`. If its schema has no fields, it is a ``dict``. If it is the resource itself, it is an ``OpenResource``.
- A default is the field's default. The defaults of lists and objects are only in the annotation: the server sets them.
"""

from __future__ import annotations

import inspect
import json
import keyword
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, Final

import msgspec

from kinformer.operator.custom_resource import Fields, Scale
from kinformer.operator.schema import Schema, schema_of

__all__ = ("NoDefinition", "source_of")

#: Names that the fields of a class must not have. A field of this name would hide what later annotations refer to.
_TAKEN: Final = frozenset(
    {
        *("atomic", "bool", "bytes", "datetime", "dict", "field", "float", "int", "list", "list_map", "list_set"),
        *("rule", "rules", "str"),
    }
)
_IMPORTED: Final = frozenset(
    {
        *("Annotated", "Any", "ClassVar", "Column", "CustomResource", "Fields", "Literal", "Meta", "OpenFields"),
        *("OpenResource", "Scale", "V1ObjectMeta"),
    }
)

_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_VALIDATIONS: Final = "x-kubernetes-validations"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"

#: The types without parts, by their names in the source.
_PLAIN: Final[Mapping[str, Any]] = {
    "str": str,
    "bytes": bytes,
    "datetime": datetime,
    "int": int,
    "float": float,
    "bool": bool,
    "int | str": int | str,
    "dict[str, Any]": dict[str, Any],
    "Any": Any,
}
_BOUNDS: Final = {"minimum": "ge", "maximum": "le", "multipleOf": "multiple_of"}
#: The arguments of Meta that stand for a word of a schema, by the type that they are for.
_LIMITS: Final[Mapping[str, Mapping[str, str]]] = {
    "str": {"minLength": "min_length", "maxLength": "max_length"},
    "list": {"minItems": "min_length", "maxItems": "max_length"},
    "dict": {"minProperties": "min_length", "maxProperties": "max_length"},
    "int": _BOUNDS,
    "float": _BOUNDS,
}
_RULE: Final = {"rule": "", "message": "", "fieldPath": "field_path", "reason": "reason"}


class NoDefinition(ValueError):
    """An object is not a CustomResourceDefinition, or one of its versions has no schema."""


@dataclass(frozen=True)
class _Type:
    """
    A type in the source.

    :param text: as the source writes it
    :param made: the schema that it stands for
    :param limits: the arguments of Meta that it may have
    """

    text: str
    made: Schema
    limits: Mapping[str, str] = field(default_factory=dict)


def source_of(definition: Mapping[str, Any]) -> str:
    """
    Write the module with the classes of a definition, one for each version, and those of their parts.

    :param definition: the CustomResourceDefinition, as plain dicts
    :raises NoDefinition: if it is none, or a version has no schema
    """
    if definition.get("kind") != "CustomResourceDefinition":
        raise NoDefinition(f"this is a {definition.get('kind') or 'nameless kind'}: want a CustomResourceDefinition")
    spec = definition["spec"]
    writer = _Writer()
    ordered = sorted(spec["versions"], key=lambda version: not version["storage"])
    names = [writer.write_resource(spec, version) for version in ordered]
    head = f'"""Custom resources of {spec["group"]}: {spec["names"]["kind"]}. Made by ``kinformer crd import``."""'
    body = "\n\n\n".join(writer.classes)
    everything = f"__all__ = ({', '.join(map(_quoted, names))},)"
    return "\n\n".join([head, *writer.imports(body), everything]) + f"\n\n\n{body}\n"


class _Writer:
    """Collects the classes of one module, each after those that it needs."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        #: The name and the description of each class, by its schema. What each field may have of its own, such as a
        #: default, is left out of this schema.
        self._known: dict[str, tuple[str, str]] = {}
        self._names: set[str] = set(_IMPORTED)

    def imports(self, body: str) -> Iterator[str]:
        """The lines before the classes."""

        def used(*names: str) -> list[str]:
            return [name for name in names if re.search(rf"\b{name}\b(?!=)", body)]

        if any(len(line) > 120 for line in body.splitlines()):
            yield "# ruff: noqa: E501"
        yield "from __future__ import annotations"
        lines = [
            ("datetime", used("datetime")),
            ("typing", used("Annotated", "Any", "ClassVar", "Literal")),
        ]
        yield "\n".join(f"from {module} import {', '.join(names)}" for module, names in lines if names)
        if names := used("Meta", "field"):
            yield f"from msgspec import {', '.join(names)}"
        if used("V1ObjectMeta"):
            yield "from kinformer.models import V1ObjectMeta"
        helpers = used("Column", "CustomResource", "Fields", "OpenFields", "OpenResource", "Scale")
        helpers += used("atomic", "list_map", "list_set", "rule")
        yield f"from kinformer.operator import {', '.join(helpers)}"

    def write_resource(self, spec: Mapping[str, Any], version: Mapping[str, Any]) -> str:
        """
        Write the class of one version, and return its name.

        :raises NoDefinition: if the version has no schema
        """
        names, kind = spec["names"], spec["names"]["kind"]
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if not schema:
            raise NoDefinition(f"{names['plural']}.{spec['group']} has no schema for {version['name']}")
        called = self._unused(kind if version["storage"] else f"{kind}{version['name'].title()}")
        properties = dict(schema.get("properties", {}))
        required = set(schema.get("required", ()))
        types = [
            self._annotated(properties[name], f"{kind}{name.title()}", in_status=name == "status")
            if name in properties
            else "None"
            for name in ("spec", "status")
        ]
        if "spec" in properties and "spec" not in required:
            types[0] += " | None"
        if needed := properties.get("status", {}).get("required"):
            types[1] = f"Annotated[{types[1]}, Meta(extra_json_schema={_literal({'required': needed})})]"
        keywords = {"group": spec["group"], "version": version["name"], "plural": names["plural"]}
        base, taken = ("OpenResource", ("extra",)) if _is_open(schema) else ("CustomResource", ())
        lines = [f"    {base}[{', '.join(types)}],", *_keywords({**keywords, **_options(spec, version)})]
        body = _docstring(schema.get("description", ""))
        made: Schema = {"type": "object", "description": body[1]} if body[1] else {"type": "object"}
        given = {
            name: {word: value for word, value in properties.pop(name, {}).items() if word != "type"}
            for name in ("apiVersion", "kind", "metadata")
        }
        if metadata := given.pop("metadata"):
            body[0].append(f"    metadata: Annotated[V1ObjectMeta, Meta(extra_json_schema={_literal(metadata)})]")
        if "spec" in properties and "spec" not in required:
            body[0].append(f"    spec: {types[0]} = None")
        shown = {name: part for name, part in properties.items() if name not in ("spec", "status")}
        fields = list(self._fields(shown, required, kind, in_status=False, taken=taken))
        if required - {"metadata", "status"} == required:
            made["required"] = schema.get("required")
        rest = {name: value for name, value in schema.items() if name != "properties" and made.get(name) != value}
        if taken:
            del rest[_PRESERVE]
        if said := {name: words for name, words in given.items() if words}:
            rest["properties"] = said
        body[0].extend([*_class_rules(rest), *fields])
        self.classes.append(f"class {called}(\n" + "\n".join(lines) + "\n):\n" + ("\n".join(body[0]) or "    pass"))
        return called

    def _unused(self, name: str) -> str:
        name = re.sub(r"\W", "", name)
        found, number = name, 2
        while found in self._names:
            found, number = f"{name}{number}", number + 1
        self._names.add(found)
        return found

    def _class_of(self, schema: Schema, hint: str, in_status: bool) -> tuple[str, str]:
        """The name and the description of the class for an object with these fields, which is written if it is new."""
        rest = {name: value for name, value in schema.items() if name not in ("description", "default", "nullable")}
        key = json.dumps([in_status, rest], sort_keys=True)
        if key in self._known:
            return self._known[key]
        called = self._unused(hint)
        lines, description = _docstring(schema.get("description", ""))
        self._known[key] = called, description
        required = set(schema.get("required", ()))
        base, own = ("OpenFields", {_PRESERVE}) if _is_open(schema) else ("Fields", set())
        taken = {"extra"} if own else set()
        fields = list(self._fields(schema["properties"], required, called, in_status=in_status, taken=taken))
        own |= {"type", "properties", "required"}
        left = {name: value for name, value in rest.items() if name not in own}
        body = [*lines, *_class_rules(left), *fields]
        self.classes.append(f"class {called}({base}):\n" + "\n".join(body))
        return self._known[key]

    def _fields(
        self,
        properties: Mapping[str, Schema],
        required: set[str],
        owner: str,
        *,
        in_status: bool,
        taken: Iterable[str] = (),
    ) -> Iterator[str]:
        taken = set(taken)
        # Fields without a default come first, as Python wants it.
        for name, schema in sorted(properties.items(), key=lambda item: item[0] not in required):
            attribute = _attribute(name, taken)
            default, part = "", dict(schema)
            options = {} if _encoded(attribute) == name else {"name": _quoted(name)}
            if name not in required:
                value = part.get("default")
                if isinstance(value, (str, int, float)) and not in_status and not _is_open(part):
                    default = _literal(part.pop("default"))
                elif value == {} and "properties" in part and not part.get("required") and not in_status:
                    del part["default"]
                    default = self._class_of(part, _title(name), in_status)[0]
                    options["default_factory"] = default
                else:
                    default = "None"
            type_ = self._annotated(part, _title(name), in_status=in_status, owner=owner)
            if (default == "None" or part.get("nullable")) and type_ != "Any":
                type_ = f"{type_} | None"
            if options:
                if default and "default_factory" not in options:
                    options["default"] = default
                default = f"field({', '.join(f'{option}={value}' for option, value in options.items())})"
            yield f"    {attribute}: {type_}" + (f" = {default}" if default else "")

    def _annotated(self, schema: Schema, hint: str, *, in_status: bool, owner: str = "") -> str:
        """The type of a schema, with annotations for all that the type alone does not say."""
        type_ = self._type(schema, hint, in_status, owner)
        left = {name: value for name, value in schema.items() if type_.made.get(name, _MISSING) != value}
        left |= {name: None for name in type_.made if name not in schema}
        # A limit such as 1.0, as in files that `kinformer crd` printed, is none of an int in Python.
        meta = {argument: _whole(left.pop(name)) for name, argument in type_.limits.items() if name in left}
        if "ge" in meta and left.get("exclusiveMinimum") is True:
            del left["exclusiveMinimum"]
            meta["gt"] = meta.pop("ge")
        if "le" in meta and left.get("exclusiveMaximum") is True:
            del left["exclusiveMaximum"]
            meta["lt"] = meta.pop("le")
        if type_.text == "str" and _is_pattern(left.get("pattern")):
            meta["pattern"] = left.pop("pattern")
        if left.get("description"):
            meta = {"description": left.pop("description"), **meta}
        markers = list(_markers(left))
        if left:
            meta["extra_json_schema"] = left
        if meta:
            markers.insert(0, f"Meta({', '.join(f'{name}={_literal(value)}' for name, value in meta.items())})")
        return f"Annotated[{', '.join([type_.text, *markers])}]" if markers else type_.text

    def _type(self, schema: Schema, hint: str, in_status: bool, owner: str) -> _Type:
        kind, properties = schema.get("type"), schema.get("properties")
        if kind == "object" and properties:
            called, description = self._class_of(schema, self._hint(hint, owner), in_status)
            made = {name: value for name, value in schema.items() if name not in ("description", "default", "nullable")}
            return _Type(called, {**made, "description": description} if description else made)
        if kind == "object" and isinstance(inner := schema.get("additionalProperties"), dict):
            values = self._annotated(inner, f"{hint}Value", in_status=in_status, owner=owner)
            text, made = f"dict[str, {values}]", {"type": "object", "additionalProperties": inner}
            return _Type(text, _plain(text).made if text in _PLAIN else made, _LIMITS["dict"])
        if kind == "object":
            return _plain("dict[str, Any]")
        if kind == "array":
            items = self._annotated(schema["items"], f"{hint}Item", in_status=in_status, owner=owner)
            return _Type(f"list[{items}]", {"type": "array", "items": schema["items"]}, _LIMITS["list"])
        if schema.get(_INT_OR_STRING):
            return _plain("int | str")
        return _scalar(schema)

    def _hint(self, hint: str, owner: str) -> str:
        return hint if hint not in self._names or not owner else f"{owner}{hint}"


_MISSING: Final = object()


def _plain(text: str) -> _Type:
    return _Type(text, schema_of(_PLAIN[text]), _LIMITS.get(text, {}))


def _scalar(schema: Schema) -> _Type:
    kind, values, format_ = schema.get("type", ""), schema.get("enum"), schema.get("format", "")
    if values and kind in ("string", "integer") and all(type(value) in (str, int) for value in values):
        text = f"Literal[{', '.join(map(_literal, values))}]"
        return _Type(text, {"type": kind, "enum": values})
    if kind == "string":
        return _plain({"date-time": "datetime", "byte": "bytes"}.get(format_, "str"))
    if kind == "integer" and not all(float(schema.get(word, 0)).is_integer() for word in _BOUNDS):
        return replace(_plain("int"), limits={})
    return _plain({"integer": "int", "number": "float", "boolean": "bool"}.get(kind, "Any"))


def _is_open(schema: Schema) -> bool:
    """Whether an object may have fields beside those of its schema."""
    return schema.get(_PRESERVE) is True


def _is_pattern(text: Any) -> bool:
    """Whether a regular expression of Go is also one of Python."""
    try:
        re.compile(text)
    except (re.error, TypeError):
        return False
    return True


def _markers(left: Schema) -> Iterator[str]:
    """The markers for some keywords of a schema. These keywords are removed from `left`."""
    list_type = left.get(_LIST_TYPE)
    if list_type == "map" and (keys := left.get(_LIST_KEYS)):
        del left[_LIST_TYPE], left[_LIST_KEYS]
        yield f"list_map({', '.join(map(_quoted, keys))})"
    elif list_type in ("set", "atomic"):
        del left[_LIST_TYPE]
        yield "list_set()" if list_type == "set" else "atomic()"
    if left.get("x-kubernetes-map-type") == "atomic":
        del left["x-kubernetes-map-type"]
        yield "atomic()"
    rules = left.get(_VALIDATIONS)
    if rules and all(set(said) <= set(_RULE) for said in rules):
        del left[_VALIDATIONS]
        for said in rules:
            arguments = [f"{_RULE[name]}={_literal(said[name])}" for name in said if _RULE[name]]
            plain = [_literal(said[name]) for name in ("rule", "message") if name in said]
            yield f"rule({', '.join([*plain, *arguments])})"


def _class_rules(left: Schema) -> Iterator[str]:
    """What a class says about the schema as a whole."""
    left = dict(left)
    markers = list(_markers(left))
    if left:
        markers.append(f"Meta(extra_json_schema={_literal(left)})")
    if markers:
        yield "    rules: ClassVar = (\n" + "".join(f"        {marker},\n" for marker in markers) + "    )"


def _options(spec: Mapping[str, Any], version: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of the class statement beside group, version and plural, where they are not the default."""
    names, subresources = spec["names"], version.get("subresources") or {}
    kind = names["kind"]
    options: dict[str, Any] = {}
    if not version["storage"]:
        options["kind"] = kind
    if spec["scope"] == "Cluster":
        options["namespaced"] = False
    if names.get("singular", kind.lower()) != kind.lower():
        options["singular"] = names["singular"]
    if names.get("listKind", f"{kind}List") != f"{kind}List":
        options["list_kind"] = names["listKind"]
    for ours, theirs in ("short_names", "shortNames"), ("categories", "categories"):
        if names.get(theirs):
            options[ours] = tuple(names[theirs])
    if columns := version.get("additionalPrinterColumns"):
        options["columns"] = tuple(map(_column, columns))
    if scale := subresources.get("scale"):
        options["scale"] = Scale(
            scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", "")
        )
    has_status = "status" in version["schema"]["openAPIV3Schema"].get("properties", {})
    if ("status" in subresources) != has_status:
        options["status_subresource"] = "status" in subresources
    if fields := version.get("selectableFields"):
        options["selectable"] = tuple(found["jsonPath"] for found in fields)
    if not version["served"]:
        options["served"] = False
    if not version["storage"]:
        options["storage"] = False
    if version.get("deprecated"):
        options["deprecated"] = version.get("deprecationWarning", True)
    return options


class _Source(str):
    """A piece of source, which is written as it is."""

    __slots__ = ()


def _column(column: Mapping[str, Any]) -> _Source:
    arguments = [_literal(column["name"]), _literal(column["jsonPath"])]
    arguments += [
        f"{name}={_literal(column[name])}" for name in ("type", "description", "priority", "format") if column.get(name)
    ]
    return _Source(f"Column({', '.join(arguments)})")


def _keywords(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if isinstance(value, tuple) and value and isinstance(value[0], _Source):
            yield f"    {name}=(\n" + "".join(f"        {item},\n" for item in value) + "    ),"
        else:
            yield f"    {name}={_literal(value)},"


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _literal(value: Any) -> str:
    """A value in Python's syntax, with double quotes where they need no escapes."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float) and (math.isinf(value) or math.isnan(value)):
        return f"float({_quoted(str(value))})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def _quoted(text: str) -> str:
    plain = repr(text)
    return plain if '"' in plain else f'"{plain[1:-1]}"'.replace("\\'", "'")


def _docstring(text: str) -> tuple[list[str], str]:
    """The lines of a docstring, and the description that is read from it."""
    if not text:
        return [], ""
    lines = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').split("\n")
    shown = "\n".join([lines[0], *(f"    {line}" if line.strip() else line for line in lines[1:])])
    if shown.endswith('"'):
        shown = f'{shown[:-1]}\\"'
    if len(lines) > 1:
        shown += "\n    "
    read = inspect.cleandoc("\n".join([text.split("\n")[0], *(f"    {line}" for line in text.split("\n")[1:])]))
    return [f'    """{shown}"""', ""], read


def _attribute(name: str, taken: set[str]) -> str:
    """The attribute for a name in JSON: ``podGC`` becomes ``pod_gc``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    made = re.sub(r"\W+", "_", words).lower().strip("_") or "field_"
    if made[0].isdigit():
        made = f"f_{made}"
    if keyword.iskeyword(made) or made in _TAKEN:
        made = f"{made}_"
    while made in taken:
        made = f"{made}_"
    taken.add(made)
    return made


@cache
def _encoded(attribute: str) -> str:
    """The name in JSON that an attribute of a Fields has by itself."""
    (only,) = msgspec.structs.fields(msgspec.defstruct("_", [(attribute, int)], bases=(Fields,)))
    return only.encode_name


def _title(name: str) -> str:
    """The class for a field: ``podTemplate`` becomes ``PodTemplate``."""
    plain = re.sub(r"\W+", "_", name)
    made = "".join(word[:1].upper() + word[1:] for word in plain.split("_"))
    return made if made[:1].isalpha() else f"Field{made}"
