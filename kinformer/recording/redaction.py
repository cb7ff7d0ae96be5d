"""Redaction: takes out of objects what must not be in a recording.

These are the values in Secrets' ``data`` and ``stringData``, tokens, and the values of annotations that were asked for.
Names stay, so that a controller finds them. The annotation in which ``kubectl apply`` keeps an object is looked into,
too. In a Secret, all annotations with JSON are taken out: kopf keeps a copy of the object in one of them. What cannot
be read is left out as a whole.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import msgspec

from kinformer.meta.requests import about

__all__ = ("REDACTED", "Redactor")

REDACTED: Final = "cmVkYWN0ZWQ="
"""What is in the place of a value: "redacted" in base64, so that a Secret with it is valid."""

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_DATA: Final = ("data", "stringData")
_NOTHING: Final = b"{}"
#: Resources whose requests and answers have tokens.
_OF_TOKENS: Final = frozenset({"tokenreviews.authentication.k8s.io"})
_FAILED: Final = (msgspec.MsgspecError, ValueError, RecursionError)


class Redactor:
    """
    :param annotations: the names of the annotations whose values are left out
    """

    def __init__(self, annotations: Collection[str]) -> None:
        self._names = frozenset(annotations)
        self._marks = [name.encode() for name in annotations]

    def concerns(self, method: str, path: str) -> bool:
        """Whether an answer to a request must be redacted, and so be put together first."""
        return bool(self._names) or _is_secret(method, path) or _has_token(method, path)

    def cleaned(self, data: bytes, method: str, path: str) -> bytes:
        """A body of a request to this path, or of its answer, without what must not be recorded."""
        if not data:
            return data
        if _has_token(method, path):
            return _NOTHING
        if _is_secret(method, path):
            return self._redacted(data, secret=True)
        # JSON may write any character in another way. No API server does so with these, but others may.
        if any(mark in data for mark in self._marks) or (self._marks and (b"\\u" in data or b"\\/" in data)):
            return self._redacted(data, secret=False)
        return data

    def cleaned_lines(self, lines: bytes, method: str, path: str) -> bytes:
        """The same for the lines of a watch."""
        if not self.concerns(method, path):
            return lines
        return b"".join(self.cleaned(line, method, path) + b"\n" for line in lines.splitlines() if line)

    def cleaned_text(self, text: str, method: str, path: str) -> str:
        """The text of an error. A server may name there what it does not accept."""
        return "" if text and (_is_secret(method, path) or _has_token(method, path)) else text

    def _redacted(self, data: bytes, *, secret: bool) -> bytes:
        try:
            found = msgspec.json.decode(data)
            return msgspec.json.encode(self._secret(found) if secret else self._walked(found))
        except _FAILED:
            return _NOTHING

    def _secret(self, found: Any) -> Any:
        """A Secret, a list or an event of Secrets, a patch of one, or a Status."""
        if isinstance(found, list):  # a JSON patch
            return [{**one, "value": REDACTED} if isinstance(one, dict) and "value" in one else one for one in found]
        if not isinstance(found, dict):
            return None
        if found.get("kind") == "Status":
            return {name: found[name] for name in ("kind", "status", "reason", "code") if name in found}
        cleaned: dict[str, Any] = {name: _emptied(value) if name in _DATA else value for name, value in found.items()}
        if isinstance(cleaned.get("object"), dict):
            cleaned["object"] = self._secret(cleaned["object"])
        for several in ("items", "rows"):
            if isinstance(cleaned.get(several), list):
                cleaned[several] = [self._secret(item) for item in cleaned[several]]
        metadata = cleaned.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        if isinstance(metadata, dict) and isinstance(annotations, dict):
            kept = {name: REDACTED if _may_be_copy(name, value) else value for name, value in annotations.items()}
            cleaned["metadata"] = {**metadata, "annotations": kept}
        return self._walked(cleaned)

    def _walked(self, value: Any) -> Any:
        """A value without the annotations that were asked for, at any depth: templates have annotations, too."""
        if not self._names:
            return value
        if isinstance(value, list):
            return [self._walked(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {name: self._value_of(name, one) for name, one in value.items()}

    def _value_of(self, name: str, value: Any) -> Any:
        if name in self._names:
            return REDACTED
        if name == _APPLIED and isinstance(value, str):
            return self._redacted(value.encode(), secret=False).decode()
        return self._walked(value)


def _emptied(value: Any) -> Any:
    """The same names, with nothing of the values."""
    return dict.fromkeys(value, REDACTED) if isinstance(value, dict) else REDACTED


def _may_be_copy(name: str, value: Any) -> bool:
    """Whether an annotation may be a copy of the object, as kubectl and kopf keep it: it is no plain text."""
    if not isinstance(value, str):
        return value is not None  # a patch removes the annotation
    return name == _APPLIED or value.lstrip().startswith(("{", "["))


def _is_secret(method: str, path: str) -> bool:
    return about(method, path).resource == "secrets"


def _has_token(method: str, path: str) -> bool:
    what = about(method, path)
    return what.subresource == "token" or what.resource in _OF_TOKENS
