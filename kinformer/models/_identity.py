"""Which object some JSON is, told without decoding it: for errors about what does not decode.

The usual case is an object of which one field has the wrong type: then a decoder that knows only names does. JSON that
is nested more deeply than any decoder goes is split by its brackets, level by level and without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from kinformer.models._errors import DECODE_ERRORS

__all__ = ("Identity", "identity_of", "items_of", "members_of")

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]', re.DOTALL)
_OPENS: Final = frozenset((b"{", b"["))
_CLOSES: Final = frozenset((b"}", b"]"))

#: Names of the API have no more, and what a hostile server sends need not be shown whole.
_LONGEST: Final = 253


class Identity(NamedTuple):
    """
    As much as an object says of itself. What it does not say, or says in the wrong type, is empty.
    """

    kind: str = ""
    namespace: str = ""
    name: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """As :func:`kinformer.meta.meta_namespace_key` has it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def described(self, kind: str = "") -> str:
        """
        As errors call it: ``Pod default/web``.

        :param kind: what it is if it does not say
        """
        shown = " ".join(filter(None, (self.kind or kind, self.key)))
        return shown if shown.isprintable() else ascii(shown)


class _Meta(msgspec.Struct):
    name: Any = ""
    namespace: Any = ""
    resource_version: Any = msgspec.field(default="", name="resourceVersion")


class _Object(msgspec.Struct):
    kind: Any = ""
    metadata: _Meta | None = None


_quick: Final = msgspec.json.Decoder(_Object)
_text: Final = msgspec.json.Decoder(str)


def identity_of(data: bytes | msgspec.Raw) -> Identity:
    """What object this is. It never fails: of what is no object, nothing is known."""
    try:
        found = _quick.decode(data)
        meta = found.metadata or _Meta()
        said = (found.kind, meta.namespace, meta.name, meta.resource_version)
    except DECODE_ERRORS:
        said = _by_brackets(bytes(data))
    return Identity(*(text[:_LONGEST] if isinstance(text, str) else "" for text in said))


def members_of(data: bytes) -> Iterator[tuple[str, bytes]]:
    """
    The members of a JSON object, however deep they are, each as its name and its JSON.

    :raises ValueError: if it is none
    """
    for member in _parts(data, b"{"):
        name = _TOKEN.match(member)
        colon = member.find(b":", name.end()) if name is not None else -1
        if name is None or colon < 0 or member[name.end() : colon].strip():
            raise ValueError("a member of an object without a name")
        yield _text.decode(name[0]), member[colon + 1 :].strip()


def items_of(data: bytes) -> list[bytes]:
    """
    The items of a JSON array, however deep they are, each as its JSON.

    :raises ValueError: if it is none
    """
    return list(_parts(data, b"["))


def _parts(data: bytes, opens: bytes) -> Iterator[bytes]:
    """What stands between the commas of the outermost level."""
    depth = 0
    begins = 0
    for token in _TOKEN.finditer(data):
        mark = token[0]
        if mark in _OPENS:
            if depth == 0 and (mark != opens or data[begins : token.start()].strip()):
                break
            depth += 1
            if depth == 1:
                begins = token.end()
        elif depth == 0:
            break
        elif mark in _CLOSES:
            depth -= 1
            if depth == 0:
                if last := data[begins : token.start()].strip():
                    yield last
                if data[token.end() :].strip():
                    break
                return
        elif mark == b"," and depth == 1:
            yield data[begins : token.start()].strip()
            begins = token.end()
    raise ValueError("JSON is malformed or cut off")


def _by_brackets(data: bytes) -> tuple[str, str, str, str]:
    said = {"kind": "", "namespace": "", "name": "", "resourceVersion": ""}
    try:
        for name, value in members_of(data):
            if name == "kind":
                said[name] = _plain_text(value)
            elif name == "metadata":
                for part, text in members_of(value):
                    if part in said:
                        said[part] = _plain_text(text)
            if said["kind"] and said["name"]:
                break  # what follows may be megabytes
    except DECODE_ERRORS:  # as far as it went
        pass
    return said["kind"], said["namespace"], said["name"], said["resourceVersion"]


def _plain_text(value: bytes) -> str:
    try:
        return _text.decode(value)
    except DECODE_ERRORS:
        return ""
