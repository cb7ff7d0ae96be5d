"""Structural schemas: apply the schema of a CustomResourceDefinition to an object.

:func:`prune` removes the fields that the schema does not have, and :func:`drop_nulls` nulls that it does not allow.
:func:`fill_defaults` sets missing fields. :func:`problems_of` finds the values that do not match, with error texts of
the API. Other modules check rules (``x-kubernetes-validations``: :mod:`.rules`), and lists and embedded objects
(:mod:`.invariants`).
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kinformer.envtest.causes import invalid, not_supported, required, shown_float, too_long, too_many
from kinformer.envtest.status import Cause, too_large_to_store
from kinformer.envtest.storage import LARGEST
from kinformer.expressions.formats import fits, is_known
from kinformer.expressions.patterns import BadPattern, Pattern, compile_pattern

__all__ = ("JUNCTORS", "NOWHERE", "by_key", "children", "drop_nulls", "fill_defaults", "key_of", "problems_of", "prune")

Schema = Mapping[str, Any]

#: The field name of a problem that belongs to no field.
NOWHERE = "<nil>"
JUNCTORS = ("allOf", "anyOf", "oneOf")
_KEEP = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
#: From this integer on, a floating point number cannot represent every integer.
_FIRST_INEXACT = 1 << 53
#: From this number on, a number is too large for a float of 32 bits, even after rounding.
_FIRST_BEYOND_FLOAT = (2 - 2**-24) * 2.0**127
#: A number counts as a multiple if the relative difference is smaller than this.
_CLOSE = 1e-9
_OF_ANY_OBJECT = ("apiVersion", "kind", "metadata")


def children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The schemas in a schema, each with its path below it."""
    for name, one in (schema.get("properties") or {}).items():
        yield f"properties[{name}]", one
    for name in ("items", "additionalProperties", "not"):
        if isinstance(one := schema.get(name), Mapping):
            yield name, one
    for junctor in JUNCTORS:
        for index, one in enumerate(schema.get(junctor) or ()):
            yield f"{junctor}[{index}]", one


def prune(value: Any, schema: Schema, path: str, unknown: list[str], kept: tuple[str, ...] = ()) -> None:
    """
    Remove the fields that the schema does not have from a value, in place.

    :param unknown: collects the paths of the removed fields
    :param kept: fields that are never removed
    """
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for index, item in enumerate(value):
            prune(item, items, f"{path}[{index}]", unknown)
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    if schema.get(_EMBEDDED):
        kept = (*kept, *_OF_ANY_OBJECT)
    for key in list(value):
        if key in kept:
            continue
        here = f"{path}.{key}" if path else key
        of_key = properties.get(key, additional)
        if isinstance(of_key, dict):
            prune(value[key], of_key, here, unknown)
        elif not schema.get(_KEEP) and of_key is not True:
            del value[key]
            unknown.append(f'unknown field "{here}"')


def drop_nulls(value: Any, schema: Any) -> None:
    """Remove the fields from a value, in place, that are null, must not be null, and have no default."""
    if isinstance(value, list):
        for item in value:
            drop_nulls(item, schema.get("items") or {})
    elif isinstance(value, dict):
        properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
        for key in list(value):
            of_key = properties.get(key, rest if isinstance(rest, dict) else {})
            if value[key] is None and key in properties and not of_key.get("nullable") and "default" not in of_key:
                del value[key]
            else:
                drop_nulls(value[key], of_key)


def fill_defaults(value: Any, schema: Schema, room: list[int] | None = None) -> None:
    """
    Set defaults in an object, in place. A null that is not allowed counts as missing.

    :param room: one number: how many bytes of defaults may be added still
    :raises StatusError: if the defaults alone are more than can be stored. Each item of a list gets its own defaults,
        so a short object can become a very long one
    """
    room = [LARGEST] if room is None else room
    if isinstance(value, list):
        for item in value:
            fill_defaults(item, schema.get("items") or {}, room)
    if not isinstance(value, dict):
        return
    properties = schema.get("properties") or {}
    for key, of_key in properties.items():
        if "default" in of_key and (key not in value or (value[key] is None and not of_key.get("nullable"))):
            room[0] -= len(key) + len(msgspec.json.encode(of_key["default"]))
            if room[0] < 0:
                raise too_large_to_store()
            value[key] = copy.deepcopy(of_key["default"])
    for key, item in value.items():
        if isinstance(of_key := properties.get(key, schema.get("additionalProperties")), dict):
            fill_defaults(item, of_key, room)


def problems_of(value: Any, schema: Schema, path: str, old: Any = None) -> Iterator[Cause]:
    """
    Find the values that do not match the schema, in the order of the API.

    :param old: the value before the change, if known. Unchanged values are not reported again
    """
    if value is None and schema.get("nullable"):
        return
    if old is not None and _is_same(value, old):
        return
    if (wrong := _type_problem(value, schema, path)) is not None:
        yield wrong
    if value is not None:
        yield from _combined_problems(value, schema, path)
    if isinstance(value, str):
        yield from _string_problems(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_problems(value, schema, path)
    elif isinstance(value, list):
        yield from _list_problems(value, schema, path, old if isinstance(old, list) else [])
    options = schema.get("enum")
    if options is not None and not any(_is_same(value, one) for one in options):
        yield not_supported(path, value, [one if isinstance(one, str) else _text(one) for one in options])
    if isinstance(value, dict):
        yield from _object_problems(value, schema, path, old if isinstance(old, dict) else {})


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() if _is_integer(value, 64):
            return "integer"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


#: The names of numbers in an error for a string with a format.
_FORMATS_OF = {"integer": "int64", "number": "float64"}


def _type_problem(value: Any, schema: Schema, path: str) -> Cause | None:
    wanted, found = schema.get("type"), _type_of(value)
    if schema.get(_INT_OR_STRING):
        wanted = "integer,string"
    if not wanted or found in wanted.split(",") or _passes_as(value, wanted):
        return None
    form = schema.get("format") or ""
    if is_known(form, "" if "," in wanted else wanted):
        if found == "array" and wanted == "string":
            return None  # the API leaves this to the check of formats, and that check ignores arrays
        if found not in ("array", "null", "string"):
            # In errors the format takes the place of the type.
            wanted, found = form, _FORMATS_OF.get(found, "")
    text = f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
    return Cause(path, "FieldValueTypeInvalid", text)


def _passes_as(value: Any, wanted: str) -> bool:
    """A whole number is an integer, however it is written. An integer is also a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return wanted == "number" or ("integer" in wanted and float(value).is_integer() and abs(value) < _FIRST_INEXACT)


def _is_integer(value: float, bits: int) -> bool:
    return value == int(value) and -(1 << bits - 1) <= value < 1 << bits - 1


def _is_same(value: Any, old: Any) -> bool:
    # In Python, 1 and True are equal.
    return bool(value == old) and type(value) is type(old)


def _object_problems(value: Mapping[str, Any], schema: Schema, path: str, old: Mapping[str, Any]) -> Iterator[Cause]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    count = len(value)
    if (least := schema.get("minProperties")) is not None and count < least:
        yield invalid(path, count, f"{path} in body should have at least {least} properties")
    if (most := schema.get("maxProperties")) is not None and count > most:
        yield too_many(path, count, most)
    for key, item in sorted(value.items()):
        here = f"{path}.{key}" if path else key
        if key in properties:
            yield from problems_of(item, properties[key], here, old.get(key))
        elif isinstance(additional, dict):
            yield from problems_of(item, additional, here, old.get(key))
    for key in schema.get("required") or ():
        if key not in value:
            yield required(f"{path}.{key}" if path else key)


def _list_problems(value: list[Any], schema: Schema, path: str, old: list[Any]) -> Iterator[Cause]:
    count = len(value)
    items = schema.get("items")
    if isinstance(items, dict):
        before = by_key(old, schema)
        for index, item in enumerate(value):
            yield from problems_of(item, items, f"{path}[{index}]", before.get(key_of(item, schema)))
    if (least := schema.get("minItems")) is not None and count < least:
        yield invalid(path, count, f"{path} in body should have at least {least} items")
    if (most := schema.get("maxItems")) is not None and count > most:
        yield too_many(path, count, most)
    if schema.get("uniqueItems") and len({_text(item) for item in value}) < count:
        yield invalid(path, value, f"{path} in body shouldn't contain duplicates")


def by_key(items: list[Any], schema: Schema) -> dict[str, Any]:
    """Items by their keys. Only the items of a list of type map have a counterpart in the old list."""
    if schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {key_of(item, schema): item for item in items}


def key_of(item: Any, schema: Schema) -> str:
    """The key of an item of a list of type map."""
    if not isinstance(item, dict):
        return ""
    return _text([item.get(key) for key in schema.get("x-kubernetes-list-map-keys") or ()])


def _first_string_problem(value: str, schema: Schema, path: str) -> Iterator[Cause]:
    if (most := schema.get("maxLength")) is not None and len(value) > most:
        yield too_long(path, most)
    elif (least := schema.get("minLength")) is not None and len(value) < least:
        yield invalid(path, value, f"{path} in body should be at least {least} chars long")
    elif pattern := schema.get("pattern"):
        compiled = _compiled(pattern)
        if compiled is not None and not compiled.search(value):
            yield invalid(path, value, f"{path} in body should match '{pattern}'")


def _string_problems(value: str, schema: Schema, path: str) -> Iterator[Cause]:
    yield from _first_string_problem(value, schema, path)
    form = schema.get("format")
    if form and not fits(value, form):
        text = f'Invalid value: "{value}": {path} in body must be of type {form}: "{value}"'
        yield Cause(path, "FieldValueTypeInvalid", text)


def _compiled(pattern: str) -> Pattern | None:
    """The compiled pattern. None if it is invalid: it was stored by a server that did not check it."""
    try:
        return compile_pattern(pattern)
    except BadPattern:
        return None


def _number_problems(value: float, schema: Schema, path: str) -> Iterator[Cause]:
    yield from _range_problems(value, schema, path)
    if (factor := schema.get("multipleOf")) and not _is_multiple(value, factor):
        yield invalid(path, value, f"{path} in body should be a multiple of {_bound(factor, value)}")
    for name, is_beyond, text in (("Minimum", operator.lt, "greater than"), ("Maximum", operator.gt, "less than")):
        if (bound := schema.get(name.lower())) is None:
            continue
        strict, bound = schema.get(f"exclusive{name}"), _as(value, bound)
        if is_beyond(value, bound) or (strict and value == bound):
            text += "" if strict else " or equal to"
            yield invalid(path, value, f"{path} in body should be {text} {_bound(bound, value)}")


def _range_problems(value: float, schema: Schema, path: str) -> Iterator[Cause]:
    """Numbers that do not fit into the type and format. The API's error names no field."""
    type_, form = schema.get("type"), schema.get("format") or ""
    if type_ not in ("integer", "number") or schema.get(_INT_OR_STRING):
        return
    if type_ == "integer":
        fits_in = _is_integer(value, 32 if form == "int32" else 64)
    else:
        fits_in = form != "float" or abs(value) < _FIRST_BEYOND_FLOAT
    if not fits_in:
        shown = f"with format {form}" if is_known(form, type_) else "(default format)"
        yield invalid(NOWHERE, "", f"Checked value must be of type {type_} {shown} in {path}")


def _as(value: float, bound: float) -> float:
    """A bound as it is compared with a value. For integers the part after the decimal point is cut off."""
    return int(bound) if isinstance(value, int) else bound


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and (whole := int(factor)):
        return value % whole == 0
    times = 1 / factor * value if factor < 1 else value / factor
    near = round(times)
    return times == near or (near != 0 and abs(times - near) < _CLOSE * abs(near))


def _bound(bound: float, value: float) -> str:
    return str(int(bound)) if isinstance(value, int) else shown_float(float(bound))


def _combined_problems(value: Any, schema: Schema, path: str) -> Iterator[Cause]:
    """The problems of combined schemas. The API's error names no field, and shows what the first schema wants."""

    def told(text: str) -> Cause:
        return invalid(NOWHERE, "", f'"{path}" must {text}')

    if any_of := schema.get("anyOf"):
        failures = [list(problems_of(value, one, path)) for one in any_of]
        if all(failures):
            yield told("validate at least one schema (anyOf)")
            yield from failures[0]
    if one_of := schema.get("oneOf"):
        failures = [list(problems_of(value, one, path)) for one in one_of]
        fitting = failures.count([])
        if fitting != 1:
            found = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            yield told(f"validate one and only one schema (oneOf). {found}")
            if not fitting:
                yield from failures[0]
    if all_of := schema.get("allOf"):
        failures = [list(problems_of(value, one, path)) for one in all_of]
        for causes in failures:
            yield from causes
        if any(failures):
            yield told(f"validate all the schemas (allOf){'' if [] in failures else '. None validated'}")
    if (no := schema.get("not")) is not None and next(problems_of(value, no, path), None) is None:
        yield told("not validate the schema (not)")
