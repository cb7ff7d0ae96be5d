"""Routes of the endpoint itself: health, and metrics. Imported only by a process that serves them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kinformer.manager.health import SLI_REGISTRY, Answer, HealthChecks
from kinformer.manager.serving.access import Access

__all__ = ("access_rules", "health_routes", "metrics_routes")


def health_routes(checks: HealthChecks) -> Iterable[web.AbstractRouteDef]:
    """``/KIND`` for all checks, with ``?verbose`` and ``?exclude=NAME``, and ``/KIND/NAME`` for one of them."""

    async def all_of_them(request: web.Request) -> web.Response:
        excluded = request.query.getall("exclude", [])
        return _text(checks.answer(excluded, verbose="verbose" in request.query))

    async def one(request: web.Request) -> web.Response:
        answer = checks.answer_one(request.match_info["name"])
        if answer is None:
            raise web.HTTPNotFound(text="404 page not found\n")
        return _text(answer)

    return [web.get(f"/{checks.kind}", all_of_them), web.get(f"/{checks.kind}/{{name}}", one)]


def _text(answer: Answer) -> web.Response:
    return web.Response(text=answer.text, status=answer.status, headers={"X-Content-Type-Options": "nosniff"})


def access_rules(access: Access) -> Middleware:
    """Answers with a Status what `access` refuses, and lets everything else through."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "")
        refused = await access.refusal(request.method.lower(), request.path, authorization)
        if refused is None:
            return await handler(request)
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": refused.message,
            "reason": refused.reason,
            "code": refused.code,
        }
        return web.json_response(status, status=refused.code)

    return check


def metrics_routes() -> Iterable[web.AbstractRouteDef]:
    """``/metrics`` with all metrics of the process, ``/metrics/slis`` with how its health checks ended."""

    def serve(registry: CollectorRegistry) -> web.AbstractRouteDef:
        path = "/metrics" if registry is REGISTRY else "/metrics/slis"

        async def metrics(_: web.Request) -> web.Response:
            return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

        return web.get(path, metrics)

    return [serve(REGISTRY), serve(SLI_REGISTRY)]


class _Tasks(Collector):
    """Counts the tasks of the loop in which it is asked."""

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return [self._family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        family = self._family()
        try:
            tasks = asyncio.all_tasks()
        except RuntimeError:  # asked by somebody else, in another thread
            return
        family.add_metric((), len(tasks))
        yield family

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "go_goroutines",
            "Number of asyncio tasks. The name is that of a Go program's goroutines, so that dashboards show them.",
            labels=(),
        )


REGISTRY.register(_Tasks())
