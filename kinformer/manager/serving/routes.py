"""The endpoint's routes for health checks, metrics and status pages. Imported only when the endpoint is served."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kinformer.manager.health import SLI_REGISTRY, Answer, HealthChecks
from kinformer.manager.serving import StatusPages
from kinformer.manager.serving.access import Access, user_of_certificate
from kinformer.manager.serving.pages import Page, Status, configz, debugging_paths, flagz, statusz

__all__ = ("StatusPages", "access_rules", "health_routes", "metrics_routes", "status_routes")


def health_routes(checks: HealthChecks) -> Iterable[web.AbstractRouteDef]:
    """``/KIND`` for all checks, with ``?verbose`` and ``?exclude=NAME``, and ``/KIND/NAME`` for one check."""

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
    """A middleware that answers requests which `access` refuses with a Status, and passes on all others."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "")
        certified = user_of_certificate(request.get_extra_info("peercert") or {})
        refused = await access.refusal(request.method.lower(), request.path, authorization, certified)
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


def metrics_routes(all_of_them: Collector = REGISTRY) -> Iterable[web.AbstractRouteDef]:
    """``/metrics`` with all metrics of the process, and ``/metrics/slis`` with the results of its health checks."""

    def serve(path: str, metrics: Collector) -> web.AbstractRouteDef:
        async def answer(_: web.Request) -> web.Response:
            return web.Response(body=generate_latest(metrics), headers={"Content-Type": CONTENT_TYPE_LATEST})

        return web.get(path, answer)

    return [serve("/metrics", all_of_them), serve("/metrics/slis", SLI_REGISTRY)]


def status_routes(pages: StatusPages) -> Iterable[web.AbstractRouteDef]:
    """``/statusz``, ``/flagz`` and ``/configz``."""

    async def status(request: web.Request) -> web.Response:
        listed = debugging_paths(resource.canonical for resource in request.app.router.resources())
        about = Status(pages.component, pages.started, version("kinformer"), platform.python_version(), listed)
        return _answer(statusz(about, datetime.now(UTC), request.headers.get("Accept", "")))

    async def flags(request: web.Request) -> web.Response:
        return _answer(flagz(pages.component, pages.flags, request.headers.get("Accept", "")))

    async def config(_: web.Request) -> web.Response:
        return _answer(configz(pages.configs()))

    return [web.get("/statusz", status), web.get("/flagz", flags), web.get("/configz", config)]


def _answer(page: Page) -> web.Response:
    headers = {"Content-Type": page.content_type, "X-Content-Type-Options": "nosniff"}
    if page.warning:
        headers["Warning"] = page.warning
    return web.Response(body=page.body.encode(), status=page.status, headers=headers)


class _Tasks(Collector):
    """Counts the tasks of the running event loop."""

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return [self._family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        family = self._family()
        try:
            tasks = asyncio.all_tasks()
        except RuntimeError:  # called in another thread, which has no event loop
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
