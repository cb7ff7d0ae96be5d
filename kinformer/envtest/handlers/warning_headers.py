"""Warnings as headers of an answer: what of them fits, in a form that every client can read.

The object is stored by then, so that nothing here may fail: a text that cannot stand in a header is left out, many or
long ones are cut. The limits are kube-apiserver's, counted in bytes as they are sent; and there are never more headers
than aiohttp's clients take.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ("warning_headers",)

#: Bytes of all warnings together; if they are more, each is cut to so many characters.
_TOTAL = 4096
_CUT = 256
#: aiohttp refuses an answer with more than 128 headers.
_MOST = 100


def warning_headers(texts: Iterable[str]) -> list[str]:
    """The values of the Warning headers for some texts, each once."""
    kept = [text for text in dict.fromkeys(texts) if text and _is_sendable(text)]
    headers = [_quoted(text) for text in kept]
    if sum(len(header.encode()) for header in headers) <= _TOTAL:
        return headers[:_MOST]
    written, cut = 0, []
    for text in kept:
        if written >= _TOTAL:
            break
        cut.append(_quoted(text[:_CUT]))
        written += len(cut[-1].encode())
    return cut[:_MOST]


def _is_sendable(text: str) -> bool:
    """No control characters, which would end the header, and no half of a surrogate pair, which has no bytes."""
    return all(unicodedata.category(char) not in ("Cc", "Cs") for char in text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
