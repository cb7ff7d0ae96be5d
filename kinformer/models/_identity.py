"""Identity: reads the name of an object from its JSON without decoding the rest, for errors about undecodable objects.

In the usual case, one field of the object has the wrong type. Then a decoder that knows only the names succeeds. JSON
that is nested too deeply for a decoder is split by its brackets, level by level and without recursion.
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

#: The most characters that are kept. Names of the API are not longer, and longer ones from a hostile server are cut.
_LONGEST: Final = 253


class Identity(NamedTuple):
    """
    The identity of an object, as far as it is given. Missing fields, and fields of the wrong type, are empty.
    """

    kind: str = ""
    namespace: str = ""
    name: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """The same key as :func:`kinformer.meta.meta_namespace_key` gives."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def described(self, kind: str = "") -> str:
        """
        The object's name in errors: ``Pod default/web``.

        :param kind: the kind of an object that does not name its own
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
    """Read the identity of an object. This never fails: for other data, all fields are empty."""
    try:
        found = _quick.decode(data)
        meta = found.metadata or _Meta()
        said = (found.kind, meta.namespace, meta.name, meta.resource_version)
    except DECODE_ERRORS:
        said = _by_brackets(bytes(data))
    return Identity(*(text[:_LONGEST] if isinstance(text, str) else "" for text in said))


def members_of(data: bytes) -> Iterator[tuple[str, bytes]]:
    """
    The members of a JSON object of any depth, each as its name and its JSON.

    :raises ValueError: if the data is not a JSON object
    """
    for member in _parts(data, b"{"):
        name = _TOKEN.match(member)
        colon = member.find(b":", name.end()) if name is not None else -1
        if name is None or colon < 0 or member[name.end() : colon].strip():
            raise ValueError("a member of an object without a name")
        yield _text.decode(name[0]), member[colon + 1 :].strip()


def items_of(data: bytes) -> list[bytes]:
    """
    The items of a JSON array of any depth, each as its JSON.

    :raises ValueError: if the data is not a JSON array
    """
    return list(_parts(data, b"["))


def _parts(data: bytes, opens: bytes) -> Iterator[bytes]:
    """The parts between the commas of the outermost level."""
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
