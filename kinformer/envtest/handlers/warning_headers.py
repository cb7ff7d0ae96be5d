"""Warnings as headers of an answer, in a form that every client can read.

The object is already stored at this point, so nothing here may fail. Texts that are not allowed in a header are left
out, and long texts or many texts are cut. The limits are those of kube-apiserver, in bytes as they are sent. There are
also never more headers than aiohttp's clients accept.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ("warning_headers",)

#: The most bytes of all warnings together. If there are more, each warning is cut.
_TOTAL = 4096
_CUT = 256
#: aiohttp refuses an answer with more than 128 headers.
_MOST = 100


def warning_headers(texts: Iterable[str]) -> list[str]:
    """The values of the Warning headers. A text that occurs twice gets one header."""
    # An object of 3 MB can have 50,000 warnings. Only as many are checked as can be sent.
    different = dict.fromkeys(texts)
    headers, written = [], 0
    for text in filter(_is_sendable, different):
        headers.append(_quoted(text))
        written += len(headers[-1].encode())
        if written > _TOTAL:
            break
    else:
        return headers[:_MOST]
    written, cut = 0, []
    for text in filter(_is_sendable, different):
        if written >= _TOTAL:
            break
        cut.append(_quoted(text[:_CUT]))
        written += len(cut[-1].encode())
    return cut[:_MOST]


def _is_sendable(text: str) -> bool:
    """
    Whether a text has no control characters, which would end the header, and no half of a surrogate pair, which cannot
    be encoded. An empty text is not sent.
    """
    if not text:
        return False
    if text.isascii() and text.isprintable():
        return True
    return all(unicodedata.category(char) not in ("Cc", "Cs") for char in text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
