"""Check the schema of a definition: its structure, its defaults, and whether its rules compile."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kinformer.envtest.causes import forbidden, invalid, not_supported, required
from kinformer.envtest.custom.paths import normal_path
from kinformer.envtest.custom.rules import RULES, Rules, compile_rules, has_rules
from kinformer.envtest.custom.structural import JUNCTORS, children, problems_of, prune
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.checks import repeats
from kinformer.expressions import MISSING, is_available, patterns

__all__ = ("check_schema",)

Schema = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_KEEP = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_LIST_TYPE = "x-kubernetes-list-type"
_LIST_KEYS = "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"
_EITHER = [{"type": "integer"}, {"type": "string"}]
_OF_ANY_OBJECT = ("apiVersion", "kind", "metadata")
_OF_ROOT = tuple(f"properties[{name}]" for name in _OF_ANY_OBJECT)
_AT_ROOT = (
    *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    *("maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items"),
    *("properties", "externalDocs", "example"),
)
#: The same and two more, with the names of Go's fields.
_ALLOWED = " ".join([*(name[0].upper() + name[1:] for name in _AT_ROOT), "XPreserveUnknownFields", "XValidations"])
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_MOST_KEYS = 100
#: What schemas that only validate values must be without, and how errors say that it must be there.
_ONLY_STRUCTURAL = {
    "empty": ("type", "title", "description", _LIST_KEYS, RULES),
    "false": ("nullable", _KEEP, _EMBEDDED, _INT_OR_STRING),
    "undefined": ("default", _LIST_TYPE, _MAP_TYPE),
}


def check_schema(schema: Schema, path: str, *, has_status: bool) -> list[Cause]:
    """
    All problems of a schema.

    :param path: the path of ``openAPIV3Schema``
    :param has_status: whether the status is a subresource
    """
    causes: list[Cause] = []
    if has_status:
        causes += _check_root(schema, path)
    if schema.get("nullable"):
        causes.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    structural = sorted(_structural(schema, path, "root"), key=lambda cause: f"{cause.field}: {cause.message}")
    structural += _complete(schema, schema, path)
    causes += structural or (defaults := list(_check_defaults(schema, path, is_root=True)))
    is_sound = not structural and not defaults
    problems, rules = _check_openapi(schema, path, _Where(is_root=True, has_types=is_sound))
    return [*causes, *problems, *rules]


def _check_root(schema: Schema, path: str) -> Iterator[Cause]:
    if (type_ := schema.get("type")) and type_ != "object":
        text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(f"{path}.type", type_, text)
    elif {name for name, value in schema.items() if value not in (None, [], {}, False, "")} - {*_AT_ROOT, _KEEP, RULES}:
        text = f"only [{_ALLOWED}] fields are allowed at the root of the schema if the status subresource is enabled"
        yield invalid(path, dict(schema), text)


# -- structural -------------------------------------------------------------------------------------------------------


def _structural(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    """
    :param level: ``root``, ``item`` or ``field``
    """
    items, properties = schema.get("items"), schema.get("properties") or {}
    if schema.get("type") == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, Mapping):
        yield from _structural(items, f"{path}.items", "item")
    for name, one in properties.items():
        if level != "root" or name != "metadata":
            yield from _structural(one, f"{path}.properties[{name}]", "field")
    if schema.get("additionalProperties") is not None:
        yield from _additional(schema, path, level)
    if schema.get(_INT_OR_STRING):
        for name in (_KEEP, _EMBEDDED):
            if schema.get(name):
                yield invalid(f"{path}.{name}", True, f"must be false if {_INT_OR_STRING} is true")
    yield from _values(schema, path, schema)
    yield from _type(schema, path, level)
    if level == "root" or schema.get(_EMBEDDED):
        yield from _of_any_object(properties, path, level)
    if schema.get(_EMBEDDED) and not schema.get(_KEEP) and not properties:
        text = f"must not be empty if {_EMBEDDED} is true without {_KEEP}"
        yield required(f"{path}.properties", text)


def _additional(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    additional, here = schema["additionalProperties"], f"{path}.additionalProperties"
    if level == "root":
        yield forbidden(here, "must not be used at the root")
    if isinstance(additional, Mapping):
        yield from _structural(additional, here, "field")
    if schema.get(_EMBEDDED):
        yield forbidden(here, f"must not be used if {_EMBEDDED} is set")


def _type(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    type_ = schema.get("type") or ""
    if schema.get(_EMBEDDED) and type_ != "object":
        text = f"must be object if {_EMBEDDED} is true"
        yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    elif not type_ and not schema.get(_INT_OR_STRING) and not schema.get(_KEEP):
        where = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
        yield required(f"{path}.type", f"must not be empty {where[level]}")
    if level == "root" and type_ and type_ != "object":
        yield invalid(f"{path}.type", type_, "must be object at the root")


def _of_any_object(properties: Mapping[str, Schema], path: str, level: str) -> Iterator[Cause]:
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        found = properties.get(name)
        if found is not None and found.get("type") != wanted:
            yield invalid(f"{path}.properties[{name}].type", found.get("type") or "", f"must be {wanted}")
    metadata = properties.get("metadata")
    if metadata is not None and level == "root":
        named = set(metadata.get("properties") or {})
        more = {name for name, value in metadata.items() if value not in (None, [], {}, False, "")}
        if more - {"type", "properties", "default", "description"} or named - {"name", "generateName"}:
            text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(f"{path}.properties[metadata]", text)


def _values(schema: Schema, path: str, whole: Schema | None = None) -> Iterator[Cause]:
    """
    Check the parts of a schema that only validate values. Their own schemas may not describe the structure of a value.
    """
    for junctor in JUNCTORS:
        for index, one in enumerate(schema.get(junctor) or ()):
            here = f"{path}.{junctor}[{index}]"
            if whole is not None and junctor == "anyOf" and schema.get("anyOf") == _EITHER:
                continue
            either = whole is not None and junctor == "allOf" and index == 0 and one.get("anyOf") == _EITHER
            yield from _nested({key: value for key, value in one.items() if not either or key != "anyOf"}, here)
    if isinstance(schema.get("not"), Mapping):
        yield from _nested(schema["not"], f"{path}.not")
    if pattern := schema.get("pattern"):
        if not patterns.is_available():
            yield forbidden(f"{path}.pattern", patterns.MISSING)
            return
        try:
            patterns.compile_pattern(pattern)
        except patterns.BadPattern as error:
            yield invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {error}")


def _nested(schema: Schema, path: str) -> Iterator[Cause]:
    yield from _values(schema, path)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], f"{path}.items")
    for name, one in (schema.get("properties") or {}).items():
        yield from _nested(one, f"{path}.properties[{name}]")
    if schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    for must, names in _ONLY_STRUCTURAL.items():
        for name in names:
            if schema.get(name) not in (None, False, "", []):
                yield forbidden(f"{path}.{name}", f"must be {must} to be structural")
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _complete(values: Schema, schema: Schema, path: str) -> Iterator[Cause]:
    """Check that every field in a value validation is also a field of the structural schema."""
    for name, one in (values.get("properties") or {}).items():
        described = (schema.get("properties") or {}).get(name) if values is not schema else one
        if described is None:
            if not schema.get(_KEEP) or values is not schema:
                missing = f"because it is defined in {path}.properties[{name}]"
                root = re.split(r"\.(?:allOf|anyOf|oneOf)\[\d+\]|\.not\b", path)[0]
                rest = path[len(root) :]
                inner = re.sub(r"\.(?:allOf|anyOf|oneOf)\[\d+\]|\.not\b", "", rest)
                yield required(f"{root}{inner}.properties[{name}]", missing)
            continue
        yield from _complete(one, described, f"{path}.properties[{name}]")
    if isinstance(values.get("items"), Mapping) and isinstance(schema.get("items"), Mapping):
        yield from _complete(values["items"], schema["items"], f"{path}.items")
    for junctor in JUNCTORS:
        for index, one in enumerate(values.get(junctor) or ()):
            yield from _complete(one, schema, f"{path}.{junctor}[{index}]")
    if isinstance(values.get("not"), Mapping):
        yield from _complete(values["not"], schema, f"{path}.not")


# -- defaults ---------------------------------------------------------------------------------------------------------


def _check_defaults(schema: Schema, path: str, *, is_root: bool = False) -> Iterator[Cause]:
    if "default" in schema and schema["default"] is not None:
        default, where = schema["default"], f"{path}.default"
        pruned, unknown = copy.deepcopy(default), list[str]()
        prune(pruned, schema, "", unknown)
        if unknown:
            yield invalid(where, default, "must not have unknown fields")
        causes = list(problems_of(default, schema, where))
        yield from causes
        if not causes and has_rules(schema) and is_available():
            rules = Rules(schema)
            for cause in rules.check(default, None, []):
                below = cause.field.removeprefix("<nil>")
                yield cause._replace(field=f"{where}.{below}" if below else where)
    for place, inner in children(schema):
        if not (is_root and place in _OF_ROOT):
            yield from _check_defaults(inner, f"{path}.{place}")


# -- everything else --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Where:
    """
    The place of a schema within the whole schema.

    :param has_types: whether rules can be compiled here
    :param no_defaults: why defaults are not allowed here. Empty if they are
    :param uncorrelated: which values here have no counterpart in the old object. Empty if all have one
    """

    is_root: bool = False
    has_types: bool = True
    no_defaults: str = ""
    in_metadata: bool = False
    uncorrelated: str = ""


def _check_openapi(schema: Schema, path: str, where: _Where) -> tuple[list[Cause], list[Cause]]:
    """
    :return: the problems of the schema, and those of its rules
    """
    problems, rules = list(_check_node(schema, path, where)), list[Cause]()

    def descend(one: Any, below: str, there: _Where) -> None:
        if isinstance(one, Mapping):
            found = _check_openapi(one, f"{path}.{below}", there)
            problems.extend(found[0])
            rules.extend(found[1])

    inner = replace(where, is_root=False)
    plain = replace(inner, has_types=False)
    in_additional = inner
    if where.in_metadata:
        in_additional = replace(inner, no_defaults="inside additionalProperties applying to object metadata")
    descend(schema.get("additionalProperties"), "additionalProperties", in_additional)
    for name, one in (schema.get("properties") or {}).items():
        there = inner
        if (where.is_root or schema.get(_EMBEDDED)) and name in _OF_ANY_OBJECT:
            there = replace(there, in_metadata=True)
            if where.is_root:
                there = replace(there, no_defaults=f"in top-level {name}")
        descend(one, f"properties[{name}]", there)
    descend(schema.get("not"), "not", plain)
    for junctor in JUNCTORS:
        for index, one in enumerate(schema.get(junctor) or ()):
            descend(one, f"{junctor}[{index}]", plain)
    if schema.get(_LIST_TYPE) != "map" and not where.uncorrelated:
        inner = replace(inner, uncorrelated=path)
    descend(schema.get("items"), "items", inner)
    problems += _check_lists(schema, path)
    problems += _check_rule_texts(schema, path)
    if schema.get(RULES) and not problems and where.has_types:
        rules += _check_rules(schema, path, where)
    return problems, rules


def _check_node(schema: Schema, path: str, where: _Where) -> Iterator[Cause]:
    type_ = schema.get("type") or ""
    if type_ == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    elif type_ and type_ not in _TYPES:
        yield not_supported(f"{path}.type", type_, _TYPES)
    if schema.get("default") is not None and where.no_defaults:
        yield forbidden(f"{path}.default", f"must not be set {where.no_defaults}")
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if where.in_metadata and schema.get(_EMBEDDED):
        yield forbidden(f"{path}.{_EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", text)
    additional = schema.get("additionalProperties")
    if additional is not None and additional is not True and schema.get("properties"):
        text = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", text)
    if schema.get(_KEEP) is False:
        yield invalid(f"{path}.{_KEEP}", False, "must be true or undefined")


def _check_lists(schema: Schema, path: str) -> Iterator[Cause]:
    type_, list_type, map_type = schema.get("type") or "", schema.get(_LIST_TYPE), schema.get(_MAP_TYPE)
    items, keys = schema.get("items"), schema.get(_LIST_KEYS) or ()
    if map_type is not None:
        if type_ != "object":
            text = f"must be object if {_MAP_TYPE} is specified"
            yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
        if map_type not in ("atomic", "granular"):
            yield not_supported(f"{path}.{_MAP_TYPE}", map_type, ("atomic", "granular"))
    if list_type is not None and type_ != "array":
        text = f"must be array if {_LIST_TYPE} is specified"
        yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    elif list_type == "set" and isinstance(items, Mapping):
        text = f"must be atomic as item of a list with {_LIST_TYPE}=set"
        if items.get("type") == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
            yield invalid(f"{path}.items.{_LIST_TYPE}", items[_LIST_TYPE], text)
        elif items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
            yield invalid(f"{path}.items.{_MAP_TYPE}", items.get(_LIST_TYPE), text)
    if list_type not in (None, "atomic", "set", "map"):
        yield not_supported(f"{path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))
    if keys and list_type != "map":
        text = f"must be map if {_LIST_KEYS} is non-empty"
        where = f"{path}.{_LIST_TYPE}"
        yield required(where, text) if list_type is None else invalid(where, list_type, text)
    if list_type == "map":
        yield from _check_keys(items, list(keys), path)
    if list_type in ("map", "set") and isinstance(items, Mapping) and items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")


def _check_keys(items: Any, keys: list[str], path: str) -> Iterator[Cause]:
    if not keys:
        yield required(f"{path}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
    if not isinstance(items, Mapping):
        return
    if items.get("type") != "object":
        text = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", text)
        return
    properties = items.get("properties") or {}
    # Each error shows all keys, so only the first keys of a very long list are checked.
    for key, again in zip(keys[:_MOST_KEYS], repeats(keys[:_MOST_KEYS]), strict=True):
        if key not in properties:
            yield invalid(f"{path}.{_LIST_KEYS}", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            text = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid(f"{path}.items.properties[{key}].type", items["type"], text)
        if again:
            yield invalid(f"{path}.{_LIST_KEYS}", keys, "must not contain duplicate entries")
    for key in keys:
        if (one := properties.get(key)) is None:
            continue
        here = f"{path}.items.properties[{key}]"
        of_keys = f"this property is in {_LIST_KEYS}, so it"
        if key not in (items.get("required") or ()) and one.get("default") is None:
            yield required(f"{here}.default", f"{of_keys} must have a default or be a required property")
        if one.get("nullable"):
            yield forbidden(f"{here}.nullable", f"{of_keys} cannot be nullable")


def _check_rule_texts(schema: Schema, path: str) -> Iterator[Cause]:
    for index, rule in enumerate(schema.get(RULES) or ()):
        here = f"{path}.{RULES}[{index}]"
        text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
        if not text:
            yield required(f"{here}.rule", "rule is not specified")
        elif message and not message.strip():
            yield invalid(f"{here}.message", message, "must be non-empty if specified")
        elif re.search(r"[\n\r]", message.strip()):
            yield invalid(f"{here}.message", message, "must not contain line breaks")
        elif re.search(r"[\n\r]", text) and not message:
            yield required(f"{here}.message", "message must be specified if rule contains line breaks")
        expression = rule.get("messageExpression") or ""
        if expression and not expression.strip():
            yield required(f"{here}.messageExpression", "messageExpression must be non-empty if specified")
        if (reason := rule.get("reason")) is not None and reason not in _REASONS:
            yield not_supported(f"{here}.reason", reason, _REASONS)
        if field := rule.get("fieldPath"):
            if not field.strip():
                yield invalid(f"{here}.fieldPath", field, "must be non-empty if specified")
            if re.search(r"[\n\r]", field):
                yield invalid(f"{here}.fieldPath", field, "must not contain line breaks")
            if normal_path(field, schema) is None:
                yield invalid(f"{here}.fieldPath", field, "must be a valid path")


def _check_rules(schema: Schema, path: str, where: _Where) -> Iterator[Cause]:
    if not is_available():
        yield forbidden(f"{path}.{RULES}", MISSING)
        return
    is_root = where.is_root or bool(schema.get(_EMBEDDED))
    for index, rule in enumerate(compile_rules(schema, is_root=is_root)):
        here, shown = f"{path}.{RULES}[{index}]", _as_shown(rule.rule)
        if rule.error:
            yield _shown(f"{here}.rule", shown, rule.error)
        if rule.message_error:
            yield _shown(f"{here}.messageExpression", shown, rule.message_error)
        if rule.uses_old and where.uncorrelated:
            text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
            yield invalid(f"{here}.rule", rule.rule.get("rule"), f"{text} {where.uncorrelated}")
        elif not rule.uses_old and rule.rule.get("optionalOldSelf") is not None:
            text = "may not be set if oldSelf is not used in rule"
            yield invalid(f"{here}.optionalOldSelf", rule.rule["optionalOldSelf"], text)


def _as_shown(rule: Schema) -> dict[str, Any]:
    """A rule as the API's own type has it. Errors show it in this form."""
    return {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def _shown(field: str, value: dict[str, Any], text: str) -> Cause:
    cause = invalid(field, value, "")
    said = cause.message.removesuffix(": ")
    for char in "<>&":  # Go escapes these characters in JSON, so that it can stand in HTML
        said = said.replace(char, f"\\u{ord(char):04x}")
    return cause._replace(message=f"{said}: {text}")
