"""Credentials: renewed once for everybody, not thrown away because of a late answer, rotated with their files."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import ClientOptions, ConfigError, Credentials, Endpoint, ServerUnreachable, Unauthorized, connect
from kinformer.client.config import load_kubeconfig
from kinformer.clock import FakeClock
from tests.client.authority import Authority
from tests.client.conftest import ScriptedServer, Write


async def test_a_late_refusal_of_an_old_token_changes_nothing(server: ScriptedServer) -> None:
    reloads = 0

    async def reload(refused: bool) -> str:
        nonlocal reloads
        reloads += 1
        return "Bearer new"

    late = server.stream()
    server.refuse(401, "Unauthorized")
    server.answer(b"fast")
    server.answer(b"slow")
    late._head = b"HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n"
    go, run = anyio.Event(), late.run

    async def held(reader: object, writer: object) -> None:
        await go.wait()
        await run(reader, writer)  # type: ignore[arg-type]

    late.run = held  # type: ignore[assignment]
    got: list[bytes] = []
    credentials = Credentials("Bearer old", reload)
    async with (
        connect(endpoint=Endpoint(server=server.url, credentials=credentials)) as client,
        anyio.create_task_group() as tasks,
    ):

        async def slow() -> None:
            got.append(await client.request("GET", "/slow"))

        tasks.start_soon(slow)
        await server.wait_for_requests(1)
        got.append(await client.request("GET", "/fast"))
        go.set()

    assert got == [b"fast", b"slow"]
    assert reloads == 1
    assert server.requests[-1].headers["authorization"] == "Bearer new"


@pytest.mark.parametrize("found", ["Bearer new", "Bearer old"])
async def test_a_hundred_refusals_are_one_renewal(found: str) -> None:
    reloads = 0
    go = anyio.Event()

    async def reload(refused: bool) -> str:
        nonlocal reloads
        reloads += 1
        await go.wait()
        return found

    credentials = Credentials("Bearer old", reload)
    used = credentials.identity
    changed: list[bool] = []

    async def renew() -> None:
        changed.append(await credentials.refresh(refused=True, used=used))

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(renew)
        await anyio.wait_all_tasks_blocked()
        go.set()

    assert reloads == 1
    assert changed == [found != "Bearer old"] * 100


async def test_everybody_who_waits_for_a_renewal_that_fails_gets_the_error() -> None:
    reloads = 0
    go = anyio.Event()

    async def reload(refused: bool) -> str:
        nonlocal reloads
        reloads += 1
        await go.wait()
        raise ConfigError("the plug-in fails")

    credentials = Credentials("Bearer old", reload)
    errors: list[str] = []

    async def renew() -> None:
        try:
            await credentials.refresh(refused=True)
        except ConfigError as error:
            errors.append(str(error))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(renew)
        await anyio.wait_all_tasks_blocked()
        go.set()

    assert reloads == 1
    assert errors == ["the plug-in fails"] * 10


async def test_a_renewal_that_is_cancelled_is_made_by_whoever_waits_next() -> None:
    reloads = 0

    async def reload(refused: bool) -> str:
        nonlocal reloads
        reloads += 1
        if reloads == 1:
            await anyio.sleep_forever()
        return "Bearer new"

    credentials = Credentials("Bearer old", reload)
    first = anyio.CancelScope()
    changed: list[bool] = []

    async def renew(scope: anyio.CancelScope) -> None:
        with scope:
            changed.append(await credentials.refresh(refused=True))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renew, first)
        tasks.start_soon(renew, anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        first.cancel()

    assert (reloads, changed) == (2, [True])


async def test_a_server_that_refuses_every_token_is_believed(server: ScriptedServer) -> None:
    tokens = iter(range(100))

    async def reload(refused: bool) -> str:
        return f"Bearer {next(tokens)}"

    for _ in range(20):
        server.refuse(401, "Unauthorized")
    async with connect(endpoint=Endpoint(server=server.url, credentials=Credentials("Bearer x", reload))) as client:
        with pytest.raises(Unauthorized):
            await client.request("GET", "/x")

    assert len(server.requests) == 4


async def test_an_unreadable_token_file_is_reported_once_and_the_token_stays(
    server: ScriptedServer, kubeconfig: Write, tmp_path: Path, clock: FakeClock
) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    server.answer(times=4)
    async with connect(kubeconfig(server.url, user={"tokenFile": "token"}), clock=clock) as client:
        token.unlink()
        with capture_logs() as logs:
            for _ in range(3):
                clock.turn(61)
                await client.request("GET", "/x")
        token.write_text("two")
        clock.turn(61)
        await client.request("GET", "/x")

    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["credentials_not_renewed"]
    assert "token: No such file or directory" in logs[0]["error"]
    assert [request.headers["authorization"] for request in server.requests] == [*["Bearer one"] * 3, "Bearer two"]


@pytest.mark.parametrize("token", ["a\nX-Evil: 1", "a\rb", "\x1b[31m", "ключ"])
async def test_a_token_unfit_for_a_header_is_refused_and_not_shown(token: str, kubeconfig: Write) -> None:
    with pytest.raises(ConfigError, match="cannot be sent in a header") as caught:
        async with connect(url="http://h", token=token):
            pass
    assert token not in str(caught.value)
    with pytest.raises(ConfigError, match=r"kubeconfig .*/config: .*cannot be sent in a header"):
        await load_kubeconfig(kubeconfig(user={"token": token}))


async def test_a_renewed_token_unfit_for_a_header_does_not_end_the_client(server: ScriptedServer) -> None:
    async def reload(refused: bool) -> str:
        return "Bearer a\nb"

    server.refuse(401, "Unauthorized")
    async with connect(endpoint=Endpoint(server=server.url, credentials=Credentials("Bearer x", reload))) as client:
        with pytest.raises(ConfigError, match="cannot be sent in a header"):
            await client.request("GET", "/x")


async def test_a_header_of_the_users_that_cannot_be_sent_is_named(server: ScriptedServer) -> None:
    with pytest.raises(ConfigError, match="the header 'X-Mine' cannot be sent"):
        async with connect(url=server.url, options=ClientOptions(headers={"X-Mine": "a\nb"})):
            pass


async def test_a_client_certificate_that_is_rotated_is_shown_to_the_server(
    tmp_path: Path, server: ScriptedServer, kubeconfig: Write, clock: FakeClock
) -> None:
    async with tls_listener(tmp_path, server) as (url, authority, names):
        cert, key = tmp_path / "me.crt", tmp_path / "me.key"
        authority.issue_to("one", cert, key)
        user = {"client-certificate": "me.crt", "client-key": "me.key"}
        cluster = {"certificate-authority": str(authority.ca), "tls-server-name": "kube.example"}
        server.answer(times=3)
        async with connect(kubeconfig(url, cluster=cluster, user=user), clock=clock) as client:
            await client.request("GET", "/x")
            authority.issue_to("two", cert, key)
            await client.request("GET", "/x")
            clock.turn(61)
            await client.request("GET", "/x")

    assert names == ["one", "one", "two"]


async def test_a_client_certificate_of_a_plug_in_is_renewed_with_it(
    tmp_path: Path, server: ScriptedServer, kubeconfig: Write
) -> None:
    async with tls_listener(tmp_path, server) as (url, authority, names):
        answer = tmp_path / "answer.json"

        def will_give(name: str) -> None:
            cert, key = tmp_path / "x.crt", tmp_path / "x.key"
            authority.issue_to(name, cert, key)
            status = {"clientCertificateData": cert.read_text(), "clientKeyData": key.read_text()}
            answer.write_text(
                json.dumps(
                    {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
                )
            )

        plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "cat", "args": [str(answer)]}
        cluster = {"certificate-authority": str(authority.ca), "tls-server-name": "kube.example"}
        server.answer()
        server.refuse(401, "Unauthorized")
        server.answer()
        will_give("one")
        async with connect(kubeconfig(url, cluster=cluster, user={"exec": plugin})) as client:
            will_give("two")
            await client.request("GET", "/x")
            await client.request("GET", "/x")

    assert names == ["one", "one", "two"]


async def test_a_certificate_authority_that_is_rotated_is_read_again(
    tmp_path: Path, server: ScriptedServer, kubeconfig: Write
) -> None:
    async with tls_listener(tmp_path, server) as (url, authority, _):
        (tmp_path / "old").mkdir()
        trusted = tmp_path / "trusted.crt"
        trusted.write_bytes(Authority(tmp_path / "old").ca.read_bytes())
        cert, key = authority.client
        cluster = {"certificate-authority": "trusted.crt", "tls-server-name": "kube.example"}
        user = {"client-certificate": str(cert), "client-key": str(key)}
        server.answer(b"trusted")
        async with connect(kubeconfig(url, cluster=cluster, user=user)) as client:
            with pytest.raises(ServerUnreachable, match="its certificate is not trusted"):
                await client.request("GET", "/x")
            trusted.write_bytes(authority.ca.read_bytes())

            assert await client.request("GET", "/x") == b"trusted"


async def test_a_key_leaves_no_file_behind(
    tmp_path: Path, kubeconfig: Write, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))  # it is not even needed
    cert, key = (path.read_bytes() for path in authority.client)
    user = {"client-certificate-data": b64(cert), "client-key-data": b64(key)}

    assert (await load_kubeconfig(kubeconfig("https://h", user=user))).tls is not None


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@asynccontextmanager
async def tls_listener(folder: Path, server: ScriptedServer) -> AsyncIterator[tuple[str, Authority, list[str]]]:
    """The scripted server behind TLS, which takes note of who comes with each request, by their certificates' names."""
    (folder / "ca").mkdir()
    authority = Authority(folder / "ca")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.ca))
    context.load_cert_chain(*authority.server)
    context.verify_mode = ssl.CERT_REQUIRED
    names: list[str] = []
    serve_one = server._serve_one

    async def noting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        goes_on = await serve_one(reader, writer)
        subject = writer.get_extra_info("peercert")["subject"]
        names.append(next(value for ((field, value),) in subject if field == "commonName"))
        return goes_on

    server._serve_one = noting  # type: ignore[method-assign]
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}", authority, names
    finally:
        listener.close()


async def test_whatever_the_source_of_credentials_raises_is_an_error_of_the_request(server: ScriptedServer) -> None:
    async def reload(refused: bool) -> str:
        raise UnicodeEncodeError("utf-8", "canary", 0, 1, "surrogates not allowed")

    server.refuse(401, "Unauthorized")
    async with connect(endpoint=Endpoint(server=server.url, credentials=Credentials("Bearer x", reload))) as client:
        with pytest.raises(ConfigError, match="their source raised UnicodeEncodeError") as caught:
            await client.request("GET", "/x")

    assert "canary" not in str(caught.value)
