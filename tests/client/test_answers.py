"""Answers: none of them, however large, long or odd, is more than an error of the request that it answered."""

from __future__ import annotations

import gzip
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import (
    AnswerTooLarge,
    ApiError,
    Client,
    ClientError,
    ClientOptions,
    ConnectionLost,
    DecodeError,
    Impersonation,
    TooManyRequests,
    connect,
    suggested_delay,
)
from kinformer.client.answers import retry_after, warning_texts
from kinformer.clock import FakeClock
from kinformer.models import V1ConfigMap
from tests.client.conftest import ScriptedServer, Write, eventually

MINE = {"X-Secret": "1", "Impersonate-User": "bob"}


def redirect(server: ScriptedServer, to: str, code: int = 307) -> None:
    server.answer(b"", code, headers={"Location": to})


@pytest.fixture
async def other(server: ScriptedServer) -> Any:
    """The same scripted server under another name, which is another origin."""
    return server.url.replace("127.0.0.1", "localhost")


async def test_a_redirect_within_the_server_is_followed_with_all_headers(server: ScriptedServer) -> None:
    redirect(server, "/moved")
    server.answer(b"here")
    async with connect(url=server.url, token="t", options=ClientOptions(headers=MINE)) as client:
        assert await client.request("GET", "/x") == b"here"

    request = server.requests[1]
    assert request.target == "/moved"
    assert (request.headers["authorization"], request.headers["x-secret"]) == ("Bearer t", "1")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_another_origin_is_told_nothing_of_who_we_are(code: int, server: ScriptedServer, other: str) -> None:
    redirect(server, f"{other}/y", code)
    server.answer(b"there")
    async with connect(
        url=server.url, token="t", options=ClientOptions(headers=MINE), impersonate=Impersonation(user="eve")
    ) as client:
        assert await client.request("GET", "/x", headers={"X-Own": "1"}) == b"there"

    assert set(server.requests[1].headers) == {"host", "accept", "accept-encoding", "user-agent"}


async def test_a_watch_tells_another_origin_nothing_either(server: ScriptedServer, other: str) -> None:
    redirect(server, f"{other}/y")
    stream = server.stream()
    async with (
        connect(url=server.url, token="t", options=ClientOptions(headers=MINE)) as client,
        client.resource(V1ConfigMap).watch(),
    ):
        await stream.opened.wait()

    assert not {"authorization", "x-secret", "impersonate-user"} & set(server.requests[1].headers)


@pytest.mark.parametrize(
    ("location", "complaint"),
    [
        ("file:///etc/passwd", "want a URL of http or https"),
        ("http://[bad", "want a URL of http or https"),
        ("javascript:alert(1)", "want a URL of http or https"),
        ("/a b", "redirects to '/a b': not followed, .* with special characters escaped"),
        ("/?ü", "not followed, .* with special characters escaped"),
        ("/x", "redirects more than 10 times"),
    ],
)
async def test_a_redirect_to_nowhere_is_an_error(
    location: str, complaint: str, server: ScriptedServer, client: Client
) -> None:
    for _ in range(12):
        redirect(server, location)

    with pytest.raises(ClientError, match=complaint):
        await client.request("GET", "/x")


async def test_a_password_in_a_redirect_is_neither_sent_nor_shown(server: ScriptedServer, client: Client) -> None:
    redirect(server, server.url.replace("http://", "http://user:canary@") + "/y")
    server.answer(b"ok")
    redirect(server, "ftp://user:canary@h/")

    assert await client.request("GET", "/x") == b"ok"
    assert server.requests[1].headers.get("authorization") in (None, "Bearer secret")
    with pytest.raises(ClientError) as caught:
        await client.request("GET", "/x")
    assert "canary" not in str(caught.value)


async def test_a_write_is_not_sent_elsewhere(server: ScriptedServer, client: Client) -> None:
    redirect(server, "/y")

    with pytest.raises(ApiError):
        await client.request("POST", "/x", body=b"{}")

    assert len(server.requests) == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "x" * 1000])
async def test_what_is_compressed_without_being_asked_is_an_error(
    encoding: str, server: ScriptedServer, client: Client
) -> None:
    for code in (200, 500):
        server.answer(gzip.compress(b"{}"), code, headers={"Content-Encoding": encoding})

        with pytest.raises(DecodeError, match=r"is compressed .* which was not asked for"):
            await client.request("GET", "/x")


async def test_a_watch_that_is_compressed_is_an_error(server: ScriptedServer, client: Client) -> None:
    server.stream(headers="Content-Encoding: gzip\r\n")

    with pytest.raises(DecodeError, match="which was not asked for"):
        async with client.resource(V1ConfigMap).watch():
            pass


async def test_a_compressed_answer_is_unpacked_stepwise_up_to_the_limit(
    server: ScriptedServer,
) -> None:
    packed = {"Content-Encoding": "gzip"}
    server.answer(gzip.compress(b"x" * 900_000), headers=packed)
    server.answer(gzip.compress(b"x" * 50_000_000), headers=packed)
    server.answer(b"no gzip", headers=packed)
    for _ in range(12):
        server.answer(gzip.compress(b"x" * 900_000)[:-9], headers=packed)
    clock = FakeClock()
    async with connect(
        url=server.url, options=ClientOptions(compression=True, max_answer=1_000_000), clock=clock
    ) as client:
        assert await client.request("GET", "/x") == b"x" * 900_000
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                await anyio.lowlevel.checkpoint()
                turns += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(count_turns)
            with pytest.raises(AnswerTooLarge, match="is larger than 1000000 bytes"):
                await client.request("GET", "/x")
            tasks.cancel_scope.cancel()
        assert turns >= 3
        with pytest.raises(DecodeError, match="is not in gzip, although"):
            await client.request("GET", "/x")
        with pytest.raises(ConnectionLost, match="the compressed answer was cut off"):
            await client._transport.request("GET", "/x", retries=0)


async def test_what_comes_after_the_end_of_gzip_data_is_not_collected(server: ScriptedServer) -> None:
    packed = gzip.compress(b"{}")
    server.answer(packed * 2, headers={"Content-Encoding": "gzip"})
    stream = server.stream(headers="Content-Encoding: gzip\r\n")
    async with connect(url=server.url, options=ClientOptions(compression=True)) as client:
        with pytest.raises(DecodeError, match="goes on after the end of its gzip data"):
            await client.request("GET", "/x")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.send, packed, b"x")  # and does not end
            with pytest.raises(DecodeError, match="goes on after the end of its gzip data"), anyio.fail_after(60):
                await client.request("GET", "/x")


@pytest.mark.parametrize("chunked", [True, False])
async def test_an_answer_that_does_not_end_is_given_up(chunked: bool, server: ScriptedServer) -> None:
    stream = server.stream(chunked=chunked)
    async with (
        connect(url=server.url, options=ClientOptions(max_answer=1_000_000)) as client,
        anyio.create_task_group() as tasks,
    ):

        async def flood() -> None:
            try:
                while True:
                    await stream.send(b"x" * 65536)
            except OSError:
                pass

        tasks.start_soon(flood)
        with pytest.raises(AnswerTooLarge, match=r"connect\(\) with a larger max_answer"):
            await client.request("GET", "/x")


async def test_a_streamed_list_may_exceed_the_limit_but_no_object_may(
    server: ScriptedServer,
) -> None:
    item = '{"metadata":{"name":"c"},"data":{"x":"%s"}}'
    many = '{"metadata":{"resourceVersion":"1"},"items":[%s]}'
    server.answer((many % ",".join([item % ("x" * 1000)] * 3000)).encode())
    server.answer((many % (item % ("x" * 3_000_000))).encode())
    async with connect(url=server.url, options=ClientOptions(max_answer=1_000_000)) as client:
        configmaps = client.resource(V1ConfigMap)
        assert len((await configmaps.list(accept=lambda _: True)).items) == 3000
        with pytest.raises(AnswerTooLarge):
            await configmaps.list(accept=lambda _: True)


@pytest.mark.parametrize("accept", [None, lambda _: True])
async def test_an_answer_may_be_as_long_as_the_limit_exactly(accept: Any, server: ScriptedServer) -> None:
    body = b'{"metadata":{"resourceVersion":"1"},"items":[]}'
    for length in (1000, 1001):
        server.answer(body.ljust(length))
    async with connect(url=server.url, options=ClientOptions(max_answer=1000)) as client:
        configmaps = client.resource(V1ConfigMap)
        assert (await configmaps.list(accept=accept)).items == []
        with pytest.raises(AnswerTooLarge):
            await configmaps.list(accept=accept)


async def test_of_a_refusal_without_end_some_is_read(server: ScriptedServer, client: Client) -> None:
    server.answer(b"x" * 3_000_000, 403)

    with pytest.raises(ApiError) as caught:
        await client.request("GET", "/x")

    assert len(str(caught.value)) < 3000


async def test_a_head_that_comes_drop_by_drop_is_given_up(
    server: ScriptedServer, client: Client, clock: FakeClock
) -> None:
    stream = server.stream()
    stream._head = b"HTTP/1.1 200 OK\r\n"
    errors: list[Exception] = []

    async def get() -> None:
        try:
            await client.request("GET", "/x")
        except ClientError as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(get)
        await server.wait_for_requests(1)
        for _ in range(7):
            await stream.send_raw(b"A: b\r\n")
            clock.turn(10)
        await eventually(lambda: errors)

    assert "nothing came for 65 s" in str(errors[0])


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("0", 0),
        (" 7 ", 7),
        ("31536000", 60),
        (str(2**63 - 1), 60),
        (str(2**63), None),
        ("9" * 5000, None),
    ],
)
def test_a_server_may_ask_for_a_minute_at_most(header: str | None, seconds: int | None) -> None:
    assert retry_after(header) == seconds


async def test_a_retry_after_of_a_year_is_a_minute(server: ScriptedServer, client: Client, clock: FakeClock) -> None:
    status = b'{"kind":"Status","status":"Failure","code":429,"message":"the storage is away"}'
    server.answer(status, 429, headers={"Retry-After": "31536000"})
    server.answer(b"ok")
    got: list[bytes] = []

    async def get() -> None:
        got.append(await client.request("GET", "/x"))

    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(get)
            await eventually(lambda: clock.next_due == 60)
            clock.turn(60)

    assert got == [b"ok"]
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("request_retried", "info")]
    assert logs[0]["why"] == "the server answered 429: the storage is away"


@pytest.mark.parametrize(
    ("seconds", "asked"), [("31536000", 60), ("9" * 20, 0), ("9" * 400, 0), ("9" * 5000, 0), ("-5", 0), ("1e400", 0)]
)
async def test_a_wait_that_does_not_parse_is_ignored(
    seconds: str, asked: float, server: ScriptedServer, client: Client
) -> None:
    status = '"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429'
    body = f'{{{status},"details":{{"retryAfterSeconds":{seconds}}}}}'.encode()
    server.answer(body, 429, headers={"Retry-After": seconds} if asked == 0 else {})

    with pytest.raises(TooManyRequests) as caught:
        await client.request("GET", "/x")

    assert len(server.requests) == 1
    assert (caught.value.retry_after or 0) == (suggested_delay(caught.value) or 0) == asked


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind":"Status","x":' + b"[" * 100_000,
        b'{"kind":"Status","code":"x","details":[1],"reason":5}',
        b"\xff\xfe",
        b"null",
        b'{"kind":"Status","code":%s}' % (b"9" * 5000),
    ],
)
async def test_a_refusal_that_makes_no_sense_is_still_one(body: bytes, server: ScriptedServer, client: Client) -> None:
    server.answer(body, 403)

    with pytest.raises(ApiError) as caught:
        await client.request("GET", "/x")

    assert caught.value.code == 403


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(100_000)) + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 1_000_000,
        b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nxxxx",
        b"HTTP/1.1 999999 X\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFFFFFFF\r\nxx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nxx",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ],
)
async def test_what_is_no_answer_is_an_error_of_the_request(
    wire: bytes, server: ScriptedServer, clock: FakeClock
) -> None:
    for _ in range(3):
        server.hang_up(wire)
    async with connect(url=server.url, clock=clock) as client:
        with pytest.raises(ClientError):
            await client._transport.request("GET", "/x", retries=0)
        with pytest.raises(ClientError):
            await read_all(client)


async def read_all(client: Client) -> None:
    """What a watch does, without the events."""
    stream = await client._transport.stream("/x", params={}, retries=0)
    try:
        while await stream.read():
            pass
    finally:
        stream.close()


async def test_a_kubeconfig_says_as_whom_to_act(server: ScriptedServer, kubeconfig: Write) -> None:
    server.answer()
    user = {
        "token": "t",
        "as": "bob",
        "as-groups": ["g1", "Domänen-Admins"],
        "as-uid": "42",
        "as-user-extra": {"example.com/reason": ["a", "b"]},
    }
    raw: list[bytes] = []
    serve_one = server._serve_one

    async def keeping(reader: Any, writer: Any) -> bool:
        readuntil = reader.readuntil

        async def noted(separator: bytes) -> bytes:
            head = await readuntil(separator)
            raw.append(head)
            return bytes(head)

        reader.readuntil = noted
        return await serve_one(reader, writer)

    server._serve_one = keeping  # type: ignore[method-assign]
    async with connect(kubeconfig(server.url, user=user)) as client:
        await client.request("GET", "/x")

    lines = {line for line in raw[0].decode().split("\r\n") if line.startswith("Impersonate-")}
    assert lines == {
        "Impersonate-User: bob",
        "Impersonate-Uid: 42",
        "Impersonate-Group: g1",
        "Impersonate-Group: Domänen-Admins",
        "Impersonate-Extra-example.com%2Freason: a",
        "Impersonate-Extra-example.com%2Freason: b",
    }


async def test_groups_without_a_user_to_act_as_are_refused(kubeconfig: Write) -> None:
    with pytest.raises(ClientError, match=r"kubeconfig .*: user 'u': it asks for groups, .* and names no user"):
        async with connect(kubeconfig(user={"as-groups": ["g"]})):
            pass


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ('299 - "a", 299 - "b"', ["a", "b"]),
        ('299 - "a" "Sat, 25 Aug 2012 23:34:45 GMT",299 proxy:80 "b"', ["a", "b"]),
        (r'299 - "say \"C:\\x\", twice"', [r'say "C:\x", twice']),
        ('199 - "not of the server", 299 - "", 299 - "b"', ["b"]),
        ('299 - "a", no warning', ["a", "no warning"]),
        ('299 - "not ended', ['299 - "not ended']),
    ],
)
def test_a_header_may_have_several_warnings(header: str, texts: list[str]) -> None:
    assert warning_texts(header) == texts
