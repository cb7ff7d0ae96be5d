"""Requests: what is sent, what is sent again, and what an answer that never comes turns into."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import aiohttp
import anyio
import anyio.to_thread
import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.client import (
    ApiError,
    Client,
    ClientError,
    ClientOptions,
    ConnectionLost,
    Endpoint,
    Forbidden,
    NotFound,
    ServerUnreachable,
    TokenBucket,
    TooManyRequests,
    Unauthorized,
    connect,
    is_connection_refused,
)
from kinformer.client.causes import cause_of as _cause
from kinformer.client.config import Credentials
from kinformer.client.connection import Connector
from kinformer.client.status import About
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.meta import GroupResource
from kinformer.models import V1ConfigMap
from tests.client.conftest import ScriptedServer, eventually
from tests.metrics import metric_value


async def test_a_request_says_who_asks_and_what_it_takes(server: ScriptedServer, client: Client) -> None:
    server.answer({"a": 1})

    assert await client.request("get", "/x", params={"q": "a b"}, type_=dict) == {"a": 1}

    request = server.requests[0]
    assert (request.method, request.target) == ("GET", "/x?q=a+b")
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["accept"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"].startswith("kinformer/")
    assert "content-type" not in request.headers


async def test_a_body_is_json_unless_it_says_otherwise(server: ScriptedServer, client: Client) -> None:
    server.answer(times=3)

    await client.request("POST", "/x", body={"a": 1})
    await client.request("PATCH", "/x", body=b"[]", headers={"Content-Type": "application/json-patch+json"})
    await client.request("POST", "/x", body=b"y", headers={"X-Other": "z"})

    assert [request.headers["content-type"] for request in server.requests] == [
        "application/json",
        "application/json-patch+json",
        "application/json",
    ]
    assert server.requests[0].json() == {"a": 1}
    assert server.requests[2].headers["x-other"] == "z"


async def test_what_the_user_sets_goes_with_every_request(server: ScriptedServer) -> None:
    server.answer()
    async with connect(
        url=server.url, options=ClientOptions(user_agent="me/1", headers={"X-Mine": "1"}, compression=True)
    ) as client:
        await client.request("GET", "/x")

    headers = server.requests[0].headers
    assert (headers["user-agent"], headers["x-mine"], headers["accept-encoding"]) == ("me/1", "1", "gzip")
    assert "authorization" not in headers


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_server_that_says_when_is_asked_again_then(
    code: int, server: ScriptedServer, client: Client, clock: FakeClock
) -> None:
    server.answer(b"busy", code, headers={"Retry-After": "3"})
    server.answer(b"done")
    got: list[bytes] = []

    async def post() -> None:
        got.append(await client.request("POST", "/x", body=b"{}"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(post)
        await server.wait_for_requests(1)
        await eventually(lambda: clock.next_due == 3)
        clock.turn(3)

    assert got == [b"done"]
    assert server.requests[1].body == b"{}"


async def test_after_ten_more_tries_the_answer_stands(server: ScriptedServer, client: Client) -> None:
    server.answer(b"busy", 429, headers={"Retry-After": "0"}, times=11)

    with pytest.raises(TooManyRequests, match="too many requests"):
        await client.request("GET", "/x")

    assert len(server.requests) == 11


async def test_a_server_that_does_not_say_when_is_not_asked_again(server: ScriptedServer, client: Client) -> None:
    server.answer(b"busy", 429)
    server.answer(b"busy", 503, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})
    server.answer(b"no", 404, headers={"Retry-After": "1"})

    for _ in range(3):
        with pytest.raises(ApiError):
            await client.request("GET", "/x")

    assert len(server.requests) == 3


async def test_a_get_whose_connection_broke_is_sent_again(
    server: ScriptedServer, client: Client, clock: FakeClock
) -> None:
    server.hang_up()  # it is sent again at once
    server.hang_up()
    server.hang_up(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    server.answer(b"whole")
    got: list[bytes] = []

    async def get() -> None:
        got.append(await client.request("GET", "/x"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(get)
        for expected in (2, 3):
            await server.wait_for_requests(expected)
            await eventually(lambda: clock.next_due == 1)
            clock.turn(1)

    assert got == [b"whole"]


async def test_a_streamed_list_is_read_anew_after_a_broken_connection(
    server: ScriptedServer, client: Client, clock: FakeClock
) -> None:
    items = [{"metadata": {"name": f"c{n}"}, "data": {"long": "x" * 100_000}} for n in range(8)]
    data = msgspec.json.encode({"metadata": {"resourceVersion": "7"}, "items": items})
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
    server.hang_up(head + data[:600_000])
    server.answer(data)
    accepted: list[str] = []
    found: list[Any] = []

    def accept(obj: V1ConfigMap) -> bool:
        accepted.append(obj.metadata.name)
        return bool(obj.metadata.name != "c3")

    async def list_all() -> None:
        found.extend((await client.resource(V1ConfigMap).list(accept=accept)).items)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(list_all)
        await server.wait_for_requests(1)
        await eventually(lambda: clock.next_due == 1)
        broken_off = list(accepted)
        clock.turn(1)

    assert 0 < len(broken_off) < 8
    assert accepted == broken_off + [f"c{n}" for n in range(8)]
    assert [obj.metadata.name for obj in found] == [f"c{n}" for n in range(8) if n != 3]


async def test_a_refused_list_is_not_read_as_one(server: ScriptedServer, client: Client) -> None:
    server.answer({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}, 403)

    with pytest.raises(Forbidden, match="no"):
        await client.resource(V1ConfigMap).list(accept=lambda _: True)


async def test_an_answer_that_does_not_come_is_given_up(server: ScriptedServer) -> None:
    server.hang()
    async with connect(url=server.url, options=ClientOptions(read_timeout=0.02)) as client:
        with pytest.raises(ConnectionLost, match=r"nothing came for 0\.02 s"):
            await client.request("GET", "/x")


async def test_a_watch_that_finds_no_connection_in_time_is_unreachable(
    server: ScriptedServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def give_up(*_: Any) -> None:
        raise aiohttp.ConnectionTimeoutError

    monkeypatch.setattr(Connector, "connect", give_up)

    with pytest.raises(ServerUnreachable, match="no connection within 30 s"):
        await client._transport.stream("/x", params={})
    assert not client.reachability.is_up


async def test_a_server_that_is_not_there_is_one_line(server: ScriptedServer) -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        with pytest.raises(ServerUnreachable) as caught:
            await client.request("GET", "/x")

    assert str(caught.value) == "cannot reach the server at http://127.0.0.1:1: Connection refused"
    assert is_connection_refused(caught.value)
    assert caught.value.url == "http://127.0.0.1:1"


async def test_a_name_that_does_not_resolve_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connect(url="http://does-not-exist.invalid") as client:
        with pytest.raises(ServerUnreachable, match=r"at http://does-not-exist.invalid: \w"):
            await client.request("GET", "/x")


def test_a_client_outside_asyncio_says_so() -> None:
    with pytest.raises(RuntimeError, match="kinformer runs on asyncio: leave backend='trio' out"):
        connect(url="http://127.0.0.1:1").__aenter__().send(None)


async def test_a_server_without_tls_is_named() -> None:
    async with ApiServer() as server, connect(url=server.url.replace("http:", "https:")) as client:
        with pytest.raises(ServerUnreachable, match="it does not speak TLS there: want http:// for https://"):
            await client.request("GET", "/x")


def test_causes_are_as_short_as_they_can_be() -> None:
    assert str(_cause(OSError(104, "whatever"))) == "Connection reset by peer"
    assert str(_cause(OSError("plain"))) == "plain"
    assert _cause(TimeoutError()) == "no answer in time"
    assert "wrong version" in str(_cause(ssl.SSLError(1, "wrong version")))
    key: Any = None
    untrusted = aiohttp.ClientConnectorCertificateError(key, ssl.SSLCertVerificationError("self-signed"))
    assert "its certificate is not trusted: " in str(_cause(untrusted))


async def test_credentials_that_are_refused_are_renewed_once(server: ScriptedServer) -> None:
    asked: list[bool] = []

    async def reload(refused: bool) -> str:
        asked.append(refused)
        return "Bearer new"

    server.refuse(401, "Unauthorized")
    server.answer(b"ok")
    server.refuse(401, "Unauthorized")
    async with connect(endpoint=Endpoint(server=server.url, credentials=Credentials("Bearer old", reload))) as client:
        assert await client.request("POST", "/x", body=b"{}") == b"ok"
        with pytest.raises(Unauthorized, match="refused the credentials for http"):
            await client.request("GET", "/x")

    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer old",
        "Bearer new",
        "Bearer new",
    ]
    assert asked == [True, True]


async def test_credentials_are_looked_after_each_minute(server: ScriptedServer, clock: FakeClock) -> None:
    tokens = iter(["Bearer 2", "Bearer 3"])

    async def reload(refused: bool) -> str:
        return next(tokens)

    server.answer(times=3)
    credentials = Credentials("Bearer 1", reload, clock)
    async with connect(endpoint=Endpoint(server=server.url, credentials=credentials), clock=clock) as client:
        for wait in (0, 59.9, 0.2):
            clock.turn(wait)
            await client.request("GET", "/x")

    assert [request.headers["authorization"] for request in server.requests] == ["Bearer 1", "Bearer 1", "Bearer 2"]


async def test_every_try_passes_the_limiter(server: ScriptedServer, clock: FakeClock) -> None:
    server.answer(b"busy", 429, headers={"Retry-After": "0"})
    server.answer(b"ok")
    bucket = TokenBucket(1, 2, clock=clock)
    async with connect(url=server.url, options=ClientOptions(rate_limiter=bucket), clock=clock) as client:
        await client.request("GET", "/x")

    assert not bucket.try_take()


@pytest.mark.parametrize("qps", [None, 0.0, -1.0])
def test_a_rate_that_is_not_positive_is_no_limit(qps: float | None, clock: FakeClock) -> None:
    options = ClientOptions(qps=qps, delete_qps=qps)

    assert options.limiter(clock) is None
    assert options.deletions(clock) is None


async def test_a_client_that_slows_itself_down_says_so(server: ScriptedServer, clock: FakeClock) -> None:
    server.answer(times=2)
    async with connect(url=server.url, options=ClientOptions(qps=0.5, burst=1), clock=clock) as client:
        with capture_logs() as logs:
            await client.request("GET", "/x")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.request, "GET", "/x")
                await clock.advance(2)

    assert [entry["event"] for entry in logs] == ["request_throttled"]


async def test_deletions_wait_for_their_own_limit_and_nothing_waits_behind_them(
    server: ScriptedServer, clock: FakeClock
) -> None:
    server.answer(times=4)
    async with (
        connect(
            url=server.url, options=ClientOptions(delete_qps=0.5, delete_burst=1, max_in_flight=1), clock=clock
        ) as client,
        anyio.create_task_group() as tasks,
    ):
        for name in ("a", "b"):
            tasks.start_soon(client.request, "DELETE", f"/{name}")
        await server.wait_for_requests(1)
        await eventually(lambda: clock.next_due == 2)
        with anyio.fail_after(60):
            await client.request("GET", "/x")
            await client.request("PUT", "/x")
        assert [request.method for request in server.requests] == ["DELETE", "GET", "PUT"]
        clock.turn(2)
        await server.wait_for_requests(4)


async def test_clients_that_share_a_limiter_wait_for_each_others_deletions(
    server: ScriptedServer, clock: FakeClock
) -> None:
    server.answer(times=2)
    limiter = TokenBucket(0.5, 1, clock=clock)
    async with (
        connect(url=server.url, options=ClientOptions(delete_limiter=limiter), clock=clock) as one,
        connect(url=server.url, options=ClientOptions(delete_limiter=limiter), clock=clock) as other,
        anyio.create_task_group() as tasks,
    ):
        await one.request("DELETE", "/a")
        tasks.start_soon(other.request, "DELETE", "/b")
        await eventually(lambda: clock.next_due == 2)
        assert len(server.requests) == 1
        clock.turn(2)
        await server.wait_for_requests(2)


async def test_an_answer_without_words_names_what_the_request_was_about(server: ScriptedServer, client: Client) -> None:
    server.answer(b"404 page not found", 404, times=2)

    with pytest.raises(NotFound, match=r"\(get queue\.example\.com\)$"):
        await client.request("GET", "/a/queue", about=About(GroupResource("example.com", "queue")))
    with pytest.raises(NotFound, match=r"\(get /a/queue\)$"):
        await client.request("GET", "/a/queue")


async def test_each_warning_of_the_server_is_logged_once(server: ScriptedServer, client: Client) -> None:
    server.answer(headers={"Warning": '299 - "v1 Endpoints is deprecated in v1.33+"'}, times=2)

    with capture_logs() as logs:
        await client.request("GET", "/x")
        await client.request("GET", "/x")

    assert [entry["warning"] for entry in logs] == ["v1 Endpoints is deprecated in v1.33+"]


async def test_requests_are_counted_under_client_gos_names(server: ScriptedServer, client: Client) -> None:
    host = server.url.removeprefix("http://")
    counted = {
        "rest_client_requests_total": [{"code": "503", "method": "GET"}, {"code": "200", "method": "GET"}],
        "rest_client_request_retries_total": [{"code": "200", "verb": "GET"}],
        "rest_client_request_duration_seconds_count": [{"verb": "GET"}],
    }

    def values() -> list[float]:
        """The port may have been another test's, whose requests were counted under the same host."""
        return [
            metric_value(name, {**labels, "host": host}) or 0 for name, series in counted.items() for labels in series
        ]

    before = values()
    server.answer(b"busy", 503, headers={"Retry-After": "0"})
    server.answer(b"ok")
    await client.request("GET", "/x")

    assert [after - earlier for after, earlier in zip(values(), before, strict=True)] == [1, 1, 1, 1]


async def test_a_request_without_an_answer_is_counted_as_an_error() -> None:
    labels = {"code": "<error>", "method": "GET", "host": "127.0.0.1:2"}
    before = metric_value("rest_client_requests_total", labels) or 0

    async with connect(url="http://127.0.0.1:2") as client:
        with pytest.raises(ServerUnreachable):
            await client.request("GET", "/x")

    assert metric_value("rest_client_requests_total", labels) == before + 1


async def test_a_closed_client_says_so(server: ScriptedServer) -> None:
    async with connect(url=server.url) as client:
        pass

    with pytest.raises(ClientError, match="is closed"):
        await client.request("GET", "/x")


async def test_a_client_in_another_event_loop_says_so(server: ScriptedServer, client: Client) -> None:
    server.answer(b"here")
    assert await client.request("GET", "/x") == b"here"

    def elsewhere() -> None:
        asyncio.run(client.request("GET", "/x"))

    with pytest.raises(RuntimeError, match="the client belongs to another event loop"):
        await anyio.to_thread.run_sync(elsewhere)


async def test_what_is_not_there_is_named(server: ScriptedServer, client: Client) -> None:
    server.answer(b"404 page not found", 404)

    with pytest.raises(NotFound, match=r"could not find the requested resource \(get /apis/ex.com/v1/typos\)$"):
        await client.request("GET", "/apis/ex.com/v1/typos", params={"limit": "1"})


async def test_a_thousand_tasks_open_no_more_than_32_connections(server: ScriptedServer) -> None:
    streams = [server.stream() for _ in range(33)]
    async with connect(url=server.url) as client, anyio.create_task_group() as tasks:
        for _ in range(33):
            tasks.start_soon(client.request, "GET", "/x")
        await server.wait_for_requests(32)
        await anyio.wait_all_tasks_blocked()
        assert len(server.requests) == 32

        await streams[0].end()
        await server.wait_for_requests(33)
        for stream in streams[1:]:
            await stream.end()


async def test_only_so_many_requests_are_under_way_at_once(server: ScriptedServer) -> None:
    streams = [server.stream(), server.stream(), server.stream()]
    async with (
        connect(url=server.url, options=ClientOptions(max_in_flight=2)) as client,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(3):
            tasks.start_soon(client.request, "GET", "/x")
        await server.wait_for_requests(2)
        await anyio.wait_all_tasks_blocked()
        assert len(server.requests) == 2
        assert client.is_busy

        await streams[0].end()
        await server.wait_for_requests(3)
        for stream in streams[1:]:
            await stream.end()
    assert not client.is_busy
