"""JSON patches (RFC 6902): a list of operations, each on one path.

The ``copy`` operations of one patch may copy a limited number of bytes, as in kube-apiserver. Without the limit, a
patch of 2 KB could double a list until the memory is full.

The operations follow the API server, which accepts more than the RFC. ``replace`` of a missing field sets it. A
``test`` for null passes where there is nothing. An index below zero counts from the end. A missing ``value`` is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from kinformer.meta.patch._json import kind_of, same
from kinformer.meta.patch.errors import MalformedPatchError, PatchError, refusing_depth

__all__ = ("MAX_COPIED", "MAX_OPERATIONS", "apply_json_patch", "create_json_patch")

#: The most operations of a patch. For more, an API server answers RequestEntityTooLarge.
MAX_OPERATIONS: Final = 10_000

#: The most bytes of JSON that the ``copy`` operations of one patch may copy in total: kube-apiserver's own limit.
MAX_COPIED: Final = 3 * 1024 * 1024

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")


def apply_json_patch(original: Any, patch: Any) -> Any:
    """
    Apply a list of operations to a copy of `original`: all of them, or none.

    :raises MalformedPatchError: if the patch is not a list of objects
    :raises PatchError: if an operation fails, because its path does not exist or its test does not hold, or if the
        patch copies more than :data:`MAX_COPIED`
    """
    if not isinstance(patch, list):
        raise MalformedPatchError(f"a JSON patch is a list of operations, not {kind_of(patch)}")
    for operation in patch:
        if not isinstance(operation, dict):
            raise MalformedPatchError(f"an operation of a JSON patch is an object, not {kind_of(operation)}")
    with refusing_depth():
        return _apply(_copy(original), patch)


def _apply(document: Any, patch: list[dict[str, Any]]) -> Any:
    copied = 0
    for operation in patch:
        name = operation.get("op")
        if name == "copy":
            document, size = _copy_value(document, operation, MAX_COPIED - copied)
            copied += size
            continue
        apply = _OPERATIONS.get(name) if isinstance(name, str) else None
        if apply is None:
            raise PatchError(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")
        document = apply(document, operation)
    return document


def _add(document: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation, "path")
    container, key = _find(document, path, "add")
    _insert(container, key, _copy(operation.get("value")), path)
    return document


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation, "path")
    container, key = _find(document, path, "remove")
    _delete(container, key, path)
    return document


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation, "path")
    value = _copy(operation.get("value"))
    if not path:
        if not isinstance(value, dict | list):
            raise PatchError("replace operation value must be object or array")
        return value
    container, key = _find(document, path, "replace")
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(key, len(container), path)] = value
    return document


def _move(document: Any, operation: dict[str, Any]) -> Any:
    source = _pointer(operation, "from")
    container, key = _find(document, source, "move")
    value = _get(container, key, source)
    _delete(container, key, source)
    path = _pointer(operation, "path")
    container, key = _find(document, path, "move")
    _insert(container, key, value, path)
    return document


def _copy_value(document: Any, operation: dict[str, Any], most: int) -> tuple[Any, int]:
    """
    Carry out a ``copy``.

    :param most: the most bytes of JSON that it may copy
    :return: the document, and the number of bytes that were copied
    """
    source = _pointer(operation, "from")
    value = _get(*_find(document, source, "copy"), source)
    path = _pointer(operation, "path")
    container, key = _find(document, path, "copy")
    size = len(msgspec.json.encode(value))
    if size > most:
        raise PatchError(
            f"unable to complete the copy of {source}: the copies of one patch may have {MAX_COPIED} bytes together"
        )
    _insert(container, key, _copy(value), path)
    return document, size


def _test(document: Any, operation: dict[str, Any]) -> Any:
    path = _pointer(operation, "path")
    value = _get(*_find(document, path, "test"), path) if path else document
    if not same(value, operation.get("value")):
        raise PatchError(f"testing value {path} failed: test failed")
    return document


_OPERATIONS: Final[dict[str, Callable[[Any, dict[str, Any]], Any]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "test": _test,
}


def _pointer(operation: dict[str, Any], member: str) -> str:
    pointer = operation.get(member)
    if not isinstance(pointer, str):
        raise PatchError(f"{operation['op']} operation failed to decode {member}: missing value")
    return pointer


def _find(document: Any, path: str, operation: str) -> tuple[Any, str]:
    """The object or list that contains the value of a path, and the value's key in it."""
    _, *parts = path.split("/")
    for part in parts[:-1]:
        if isinstance(document, dict):
            document = document.get(_unescape(part))
        elif isinstance(document, list) and (index := _index_or_none(_unescape(part), len(document))) is not None:
            document = document[index]
        else:
            document = None
    if not parts or not isinstance(document, dict | list):
        raise PatchError(f'{operation} operation does not apply: doc is missing path: "{path}": missing value')
    return document, _unescape(parts[-1])


def _get(container: Any, key: str, path: str) -> Any:
    return container.get(key) if isinstance(container, dict) else container[_index(key, len(container), path)]


def _insert(container: Any, key: str, value: Any, path: str) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1, path), value)


def _delete(container: Any, key: str, path: str) -> None:
    if isinstance(container, dict) and key not in container:
        raise PatchError(f"error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value")
    del container[key if isinstance(container, dict) else _index(key, len(container), path)]


def _index(key: str, length: int, path: str) -> int:
    index = _index_or_none(key, length)
    if index is None:
        raise PatchError(f"'{path}': {key!r} is not an index of a list of {length}")
    return index


def _index_or_none(key: str, length: int) -> int | None:
    if _INDEX.fullmatch(key) is None:
        return None
    index = int(key)
    return index + length * (index < 0) if -length <= index < length else None


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _copy(value: Any) -> Any:
    """A deep copy of a JSON value. It is twenty times faster than deepcopy, which handles more than JSON."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def create_json_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """
    Make the operations (RFC 6902) that turn `before` into `after`.

    The patch does not touch fields that neither object has, so both may have only some fields of the whole object.
    Lists of the same length are compared item by item. Otherwise the whole list is replaced.
    """
    return list(_differences(before, after, ""))


def _differences(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in after:
                yield {"op": "remove", "path": f"{path}/{_escaped(name)}"}
        for name, value in after.items():
            here = f"{path}/{_escaped(name)}"
            if name not in before:
                yield {"op": "add", "path": here, "value": value}
            else:
                yield from _differences(before[name], value, here)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, f"{path}/{index}")
    elif type(before) is not type(after) or before != after:
        yield {"op": "replace", "path": path, "value": after}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
