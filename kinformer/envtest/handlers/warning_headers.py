"""Warnings as headers of an answer: what of them fits, in a form that every client can read.

The object is stored by then, so that nothing here may fail: a text that cannot stand in a header is left out, many or
long ones are cut. The limits are kube-apiserver's, counted in bytes as they are sent; and there are never more headers
than aiohttp's clients take.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

__all__ = ("warning_headers",)

#: Bytes of all warnings together; if they are more, each is cut to so many characters.
_TOTAL = 4096
_CUT = 256
#: aiohttp refuses an answer with more than 128 headers.
_MOST = 100


def warning_headers(texts: Iterable[str]) -> list[str]:
    """The values of the Warning headers for some texts, each once."""
    # An object of 3 MB is warned of 50,000 times: no more of that is looked at than can be sent.
    kept = _Sendable(dict.fromkeys(texts))
    headers, written = [], 0
    for text in kept:
        headers.append(_quoted(text))
        written += len(headers[-1].encode())
        if written > _TOTAL:
            break
    else:
        return headers[:_MOST]
    written, cut = 0, []
    for text in kept:
        if written >= _TOTAL:
            break
        cut.append(_quoted(text[:_CUT]))
        written += len(cut[-1].encode())
    return cut[:_MOST]


class _Sendable:
    """Those of some texts that can stand in a header; they are looked at when they are asked for."""

    def __init__(self, texts: Iterable[str]):
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return (text for text in self._texts if text and _is_sendable(text))


def _is_sendable(text: str) -> bool:
    """No control characters, which would end the header, and no half of a surrogate pair, which has no bytes."""
    if text.isascii() and text.isprintable():
        return True
    return all(unicodedata.category(char) not in ("Cc", "Cs") for char in text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
