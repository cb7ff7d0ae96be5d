"""The HTTP handler: one function takes every request, and turns every error into an answer."""

from __future__ import annotations

import gzip
import random
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote

import anyio
import anyio.to_thread
from aiohttp import web
from aiohttp.client_exceptions import ClientConnectionError

from kinformer.envtest import status
from kinformer.envtest.access import MASTERS, Authorizer, impersonated
from kinformer.envtest.admission import User
from kinformer.envtest.containers import FakeContainers
from kinformer.envtest.containers.streams import ContainerStreams
from kinformer.envtest.conversion import Conversions
from kinformer.envtest.discovery import Discovery
from kinformer.envtest.faults import Faults
from kinformer.envtest.handlers import reading, writing
from kinformer.envtest.handlers.aside import Aside, takes_long
from kinformer.envtest.handlers.call import Answer, Call, Target, encode, find_target, parse_query, verb_for
from kinformer.envtest.handlers.reviews import Reviews
from kinformer.envtest.handlers.subresources import serve_subresource
from kinformer.envtest.handlers.warning_headers import warning_headers
from kinformer.envtest.handlers.watching import WatchSet, open_watch
from kinformer.envtest.handlers.writing import answer_delete
from kinformer.envtest.handlers.yaml_bodies import BODY_LIMIT, in_form
from kinformer.envtest.operations import Operations
from kinformer.envtest.tracking import TokenTracking
from kinformer.envtest.webhooks import Webhooks, WebhookSession, WebhooksPending
from kinformer.envtest.writes import WriteLog
from kinformer.logs import get_logger
from kinformer.meta.names import GroupResource

__all__ = ("HttpHandler",)

log = get_logger(__name__)

#: The time in seconds in which a body must arrive.
BODY_TIME = 60.0

#: The most runs of a write. It runs again after each call of webhooks, also if another client has changed the object in
#: between.
_ROUNDS = 500
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
#: Answers of at least this many bytes are compressed. This number and the compression level are kube-apiserver's.
_COMPRESSED_FROM = 128 * 1024
_COMPRESSION = 1
#: The paths that need no credentials. Invalid ones are refused there too.
_OPEN_PATHS = ("/healthz", "/livez", "/readyz", "/version")
#: The warnings for deprecated resources.
_DEPRECATED = {
    GroupResource("", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    GroupResource("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
_HEALTH = ("healthz", "livez", "readyz")
_VERBS: dict[str, Callable[[Operations, Call], Answer]] = {
    "get": reading.get,
    "list": reading.list_objects,
    "create": writing.create,
    "update": writing.update,
    "patch": writing.patch,
    "delete": writing.delete,
    "deletecollection": writing.delete_collection,
}


@dataclass(eq=False)
class HttpHandler:
    """
    Answers requests.

    :param authenticate: returns the user for an Authorization header and a client certificate. None if there is none
    """

    operations: Operations
    discovery: Discovery
    watches: WatchSet
    authenticate: Callable[..., User | None]
    authorizer: Authorizer
    faults: Faults
    rng: random.Random
    webhooks: Webhooks
    conversions: Conversions
    containers: FakeContainers
    writes: WriteLog

    def __post_init__(self) -> None:
        self._reviews = Reviews(self.operations, self.authenticate, self.authorizer)
        self._tracking = TokenTracking(self.operations)
        self._aside = Aside(self.operations.storage)
        self._container_streams = ContainerStreams(self.operations, self.containers, self.watches.streams)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._handle(request)
        except status.StatusError as error:
            return _refusal(error)
        except RecursionError:
            # The last resort. Bodies that are nested too deeply are usually refused when they are read.
            return _refusal(status.bad_request("the object, or what the request makes of it, is nested too deeply"))
        except ClientConnectionError:
            # The client has disconnected during an answer, so there is nobody to answer.
            raise
        except Exception as error:
            text = traceback.format_exc()
            log.error("request_failed", method=request.method, path=request.raw_path, error=repr(error), traceback=text)
            return _refusal(status.StatusError(500, "InternalError", "Internal error occurred", {}))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query_text = request.raw_path.partition("?")
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        header = request.headers.get("Authorization", "")
        user = self.authenticate(header, certificate)
        if user is None and (header or not path.startswith(_OPEN_PATHS)):
            raise status.unauthorized()
        if user is not None:
            user = impersonated(request.headers.items(), user, self.authorizer)
        segments = [unquote(segment) if "%" in segment else segment for segment in path.split("/")[1:]]
        if segments[-1] == "" and len(segments) > 1:
            segments.pop()
        query = parse_query(query_text)
        if len(segments) > (2 if segments[0] == "api" else 3) and segments[0] in ("api", "apis"):
            target = find_target(self.operations.registry, segments)
            if target is None:
                return _text(404, "404 page not found\n")
            return await self._serve(request, target, query, user or User("system:anonymous"))
        if segments[0] == "kinformer" and len(segments) == 2:
            return self._control(request, user, segments[1])
        return self._describe(request, segments)

    async def _serve(
        self, request: web.BaseRequest, target: Target, query: dict[str, str], user: User
    ) -> web.StreamResponse:
        verb = verb_for(request.method, target, query)
        headers = request.headers
        call = Call(
            request.method,
            target,
            verb,
            query,
            headers.get("Content-Type", ""),
            headers.get("Accept", ""),
            b"",
            user,
            headers.get("User-Agent", ""),
            self.faults.behind,
            self.operations.clock.now(),
            authorize=partial(self.authorizer.check, user),
        )
        call.authorize(call.action)
        call.body = await _body(request)
        if (deprecated := _DEPRECATED.get(target.resource.group_resource)) is not None:
            call.warnings.append(deprecated)
        if not self.faults.is_quiet:
            await self.faults.before(call)
        try:
            return await self._respond(request, call)
        except status.StatusError as error:
            # A refusal has the warnings as well. They often name the mistake that is the reason for the refusal.
            return in_form(_refusal(error, call.warnings), call.accept)

    async def _respond(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        target = call.target
        self._tracking.look(target.resource.storage, target.namespace)
        if (mirror := self.conversions.mirror_of(target.resource)) is not None:
            await mirror.catch_up()
            call.target = replace(target, resource=mirror.resource)
        if call.verb == "watch":
            return await self._watch(request, call)
        if self._container_streams.is_for(call):
            return await self._container_streams(request, call)
        session = self.webhooks.session(always=mirror is not None)
        with self.writes.noting(self.operations, call) as note:
            if call.verb in _WRITES and session is not None:
                answer = await self._review(call, session)
            elif call.verb == "delete":
                answer = await answer_delete(self.operations, call, self._answer_in_turn)
            else:
                answer = await self._answer_in_turn(call)
            note.answer = answer
        await self.operations.storage.settled()
        response = in_form(_response(answer, call.warnings), call.accept)
        encodings = request.headers.get("Accept-Encoding", "")
        body = response.body
        if isinstance(body, bytes) and len(body) > _COMPRESSED_FROM and "gzip" in map(str.strip, encodings.split(",")):
            response.body = await anyio.to_thread.run_sync(partial(gzip.compress, body, _COMPRESSION, mtime=0))
            response.headers["Content-Encoding"] = "gzip"
            response.headers["Vary"] = "Accept-Encoding"
        return response

    async def _answer_in_turn(self, call: Call) -> Answer:
        """Answer a request. A write waits for the one in the thread, if any. A long write runs in the thread itself."""
        storage = self.operations.storage
        if call.verb in _WRITES:
            if takes_long(call, storage):
                return await self._aside.run(self._answer, call)
            if storage.has_guest:
                await storage.alone()
        return self._answer(call)

    def _answer(self, call: Call) -> Answer:
        if not call.target.resource.is_stored and call.verb == "create":
            return self._reviews.create(call)
        if call.target.subresource is not None:
            return serve_subresource(self.operations, call)
        return _VERBS[call.verb](self.operations, call)

    async def _review(self, call: Call, session: WebhookSession) -> Answer:
        """
        Answer a write that may need webhooks. It runs again until it has all their answers.

        :raises StatusError: if a webhook refuses the write. Timeout, if the object changes again in every attempt
        """
        call.review = session
        told = len(call.warnings)
        try:
            for _ in range(_ROUNDS):
                del call.warnings[told:]
                try:
                    return await self._answer_in_turn(call)
                except WebhooksPending as pending:
                    await pending.ask()
        finally:
            call.warnings += session.warnings
        raise status.StatusError(504, "Timeout", "Timeout: request did not complete within requested timeout", {})

    async def _watch(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        watch = open_watch(self.operations, call, self.watches, self.rng)
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        _warn(response, call.warnings)
        response.enable_chunked_encoding()
        # Most watches end in this way: their client disconnects while there is something to write.
        with suppress(ConnectionResetError):
            await response.prepare(request)
            async for chunk in watch.chunks():
                await self.operations.storage.settled()
                await response.write(chunk)
            if watch.is_cut:
                await response.write(watch.last_words)
                if request.transport is not None:
                    request.transport.close()
                return response
            await response.write_eof()
        return response

    def _control(self, request: web.BaseRequest, user: User | None, what: str) -> web.StreamResponse:
        """Faults for a server in another process. The only path is ``POST /kinformer/compact``."""
        if user is None or MASTERS not in user.groups:
            raise status.unauthorized()
        if request.method != "POST" or what != "compact":
            return _text(404, "404 page not found\n")
        self.faults.compact()
        return _response(Answer(encode(status.success())), [])

    def _describe(self, request: web.BaseRequest, segments: list[str]) -> web.StreamResponse:
        reads = request.method in ("GET", "HEAD")
        if segments[0] in _HEALTH:
            return _text(200, "ok") if reads else _text(405, "405 Method Not Allowed")
        accept = request.headers.get("Accept", "")
        if segments == ["openapi", "v2"] and "proto-openapi" in accept:  # kubectl reads types there, to check a List
            return _response(Answer(b"", content_type="application/com.github.proto-openapi.spec.v2.v1.0+protobuf"), [])
        aggregated = ""
        if "as=APIGroupDiscoveryList" in accept:
            aggregated = "v2" if "v=v2;" in f"{accept};".replace(",", ";") else "v2beta1"
        document = self.discovery.document([] if segments == [""] else segments, aggregated) if reads else None
        if document is None:
            return _text(404, "404 page not found\n")
        type_ = "application/json"
        if aggregated and document.get("kind") == "APIGroupDiscoveryList":
            type_ = f"application/json;g=apidiscovery.k8s.io;v={aggregated};as=APIGroupDiscoveryList"
        return _response(Answer(encode(document), content_type=type_), [])


async def _body(request: web.BaseRequest) -> bytes:
    """
    Read a body.

    :raises StatusError: RequestEntityTooLarge. Timeout, if the body does not arrive in time
    """
    if not request.can_read_body:
        return b""
    try:
        if request.content.is_eof():
            return await request.read()  # most bodies are here already, and a time limit would cost 35 µs
        with anyio.fail_after(BODY_TIME):
            return await request.read()
    except TimeoutError:
        text = "Timeout: request did not complete within the allotted timeout"
        raise status.StatusError(504, "Timeout", text, {}) from None
    except web.HTTPRequestEntityTooLarge:
        text = f"Request entity too large: limit is {BODY_LIMIT}"
        raise status.StatusError(413, "RequestEntityTooLarge", text, {}) from None


def _response(answer: Answer, warnings: list[str]) -> web.Response:
    headers = {"Content-Type": answer.content_type}
    response = web.Response(body=answer.body, status=answer.code, headers=headers)
    _warn(response, warnings)
    return response


def _warn(response: web.StreamResponse, warnings: Iterable[str]) -> None:
    for header in warning_headers(warnings):
        response.headers.add("Warning", header)


def _refusal(error: status.StatusError, warnings: Iterable[str] = ()) -> web.Response:
    response = web.Response(body=error.encode(), status=error.code, headers={"Content-Type": "application/json"})
    _warn(response, warnings)
    if error.retry_after:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _text(code: int, text: str) -> web.Response:
    return web.Response(
        body=text.encode(),
        status=code,
        headers={"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"},
    )
