"""The pages that are probed, by HTTP. Both operators use this."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp

__all__ = ("forget", "lines_of", "look_at")

_SHORT = aiohttp.ClientTimeout(total=10)


async def look_at(url: str) -> int:
    """The status of the answer: 200 if all is well."""
    async with aiohttp.request("GET", url, timeout=_SHORT) as answer:
        return answer.status


async def lines_of(url: str) -> AsyncIterator[str]:
    """The lines that the page sends. The request stays open until the page ends it."""
    timeout = aiohttp.ClientTimeout(total=None, connect=10)
    async with aiohttp.request("GET", f"{url}/says", timeout=timeout, raise_for_status=True) as answer:
        async for line in answer.content:
            yield line.decode().strip()


async def forget(url: str) -> None:
    """Tell the page that it is no longer probed. It may be called more than once."""
    async with aiohttp.request("DELETE", url, timeout=_SHORT, raise_for_status=True):
        pass
