"""Sets of fields: which parts of an object a manager owns, as paths, and as ``fieldsV1`` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kinformer.envtest.apply.shapes import Shape

__all__ = ("Path", "decode_fields", "encode_fields", "fields_of", "path_text", "value_at")

#: Parts as fieldsV1 has them: ``f:name`` a field, ``k:{…}`` an entry by its key, ``v:…`` a scalar of a set.
Path = tuple[str, ...]

_MISSING: Any = object()


def _canonical(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def fields_of(value: Any, shape: Shape, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """
    Every field that a value sets, with what it sets it to.

    An entry of a keyed list is a field itself, without a value, besides what is in it.
    """
    if isinstance(value, dict) and value and not shape.atomic:
        for name, item in value.items():
            yield from fields_of(item, shape.field(name), (*path, f"f:{name}"))
    elif isinstance(value, list) and shape.is_keyed(value):
        for entry in value:
            here = (*path, f"k:{_canonical(shape.key_of(entry))}")
            yield here, _MISSING
            yield from fields_of(entry, shape.entry, here)
    elif isinstance(value, list) and shape.is_set:
        for entry in value:
            yield (*path, f"v:{_canonical(entry)}"), entry
    else:
        yield path, value


def value_at(fields: dict[Path, Any], path: Path) -> Any:
    return fields.get(path, _MISSING)


def encode_fields(paths: Iterable[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in sorted(paths):
        node = root
        for part in path:
            node = node.setdefault(part, {})
        if path and path[-1].startswith("k:"):
            node["."] = {}
    return root


def decode_fields(tree: Any, path: Path = ()) -> Iterator[Path]:
    if not isinstance(tree, dict):
        return
    if path and (not tree or "." in tree):
        yield path
    for part, inner in tree.items():
        if part != ".":
            yield from decode_fields(inner, (*path, part))


def path_text(path: Path) -> str:
    """A path as people read it: ``.spec.containers[name="c"].image``."""
    parts = []
    for part in path:
        kind, _, rest = part.partition(":")
        if kind == "f":
            parts.append(f".{rest}")
        elif kind == "v":
            parts.append(f"[={rest}]")
        else:
            keys = msgspec.json.decode(rest)
            parts.append("[" + ",".join(f"{key}={_canonical(value)}" for key, value in sorted(keys.items())) + "]")
    return "".join(parts)
