"""Which requests cost more than in proportion to what they bring.

Every list of every kind is made long, and four times as long, and sent to be created and to be applied. Four times as
many items may cost four times as much; what looks at each of them once for every other costs sixteen times as much.
What is compared is CPU time, so that it does not matter what else the machine does.
"""

from __future__ import annotations

import gc
import io
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import aiohttp
import msgspec

from kinformer.envtest import ApiServer
from kinformer.envtest.registry import Resource
from tests.fuzz.samples import Place, grown, lists_of, sample

__all__ = ("MOST", "Growing", "Growth", "every_growing", "measure", "some", "url_of")

#: What takes less than this many seconds says more about the clock than about the server.
_LEAST = 0.004
#: How much more four times as many items may cost: twice what they should.
MOST = 8.0


class Growing(NamedTuple):
    """A list of a kind's objects."""

    resource: Resource
    place: Place

    def __str__(self) -> str:
        return f"{self.resource.kind} {'.'.join(map(str, self.place))}"


class Growth(NamedTuple):
    """
    :param times: how many times as much four times as many items cost
    :param seconds: what they cost
    """

    growing: Growing
    method: str
    times: float
    seconds: float
    code: int


def url_of(resource: Resource, name: str = "") -> str:
    """Where objects of a resource are, in the namespace ``default``."""
    group = f"/apis/{resource.group}" if resource.group else "/api"
    namespace = "/namespaces/default" if resource.namespaced else ""
    return f"{group}/{resource.version}{namespace}/{resource.plural}" + (f"/{name}" if name else "")


def every_growing(server: ApiServer) -> Iterator[Growing]:
    """The lists of all kinds; of those with the same name at the same field one, as there are in many kinds."""
    seen: set[tuple[str, ...]] = set()
    for resource in server.registry:
        if "create" not in resource.verbs or not resource.is_stored:
            continue
        for place in lists_of(sample(resource)):
            names = tuple(step for step in place if isinstance(step, str))[-2:]
            if names not in seen:
                seen.add(names)
                yield Growing(resource, place)


async def measure(server: ApiServer, growings: Sequence[Growing], items: int) -> AsyncIterator[Growth]:
    """How the cost of each grows; what seems to grow too fast is measured again, and the least counts."""
    headers = {"Authorization": f"Bearer {server.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for growing in growings:
            for method in ("POST", "PATCH"):
                best: Growth | None = None
                for _ in range(3):
                    growth = await _measure_one(server, session, growing, method, items)
                    best = growth if best is None or growth.times < best.times else best
                    if best.times < MOST / 2:
                        break
                assert best is not None
                yield best


async def _measure_one(
    server: ApiServer, session: aiohttp.ClientSession, growing: Growing, method: str, items: int
) -> Growth:
    few, _ = await _cost(server, session, growing, method, items)
    many, code = await _cost(server, session, growing, method, 4 * items)
    return Growth(growing, method, many / max(few, _LEAST), many, code)


async def _cost(
    server: ApiServer, session: aiohttp.ClientSession, growing: Growing, method: str, items: int
) -> tuple[float, int]:
    resource, place = growing
    body = msgspec.json.encode(grown(sample(resource), place, items))
    name, query = ("", "dryRun=All") if method == "POST" else ("a", "dryRun=All&fieldManager=m")
    type_ = "application/json" if method == "POST" else "application/apply-patch+yaml"
    url = f"{server.url}{url_of(resource, name)}?{query}"
    with _without_collector():
        before = time.process_time()
        async with session.request(method, url, data=io.BytesIO(body), headers={"Content-Type": type_}) as response:
            await response.read()
        return time.process_time() - before, response.status


@contextmanager
def _without_collector() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def some(growings: Sequence[Growing], named: Sequence[str], seed: int, count: int) -> list[Growing]:
    """Those that are named, and some others."""
    chosen = [growing for growing in growings if str(growing) in named]
    others = [growing for growing in growings if str(growing) not in named]
    return chosen + random.Random(seed).sample(others, count)
