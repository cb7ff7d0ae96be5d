"""Where a cluster is: kubeconfigs, pods, URLs, and what is said about those that are broken."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import sys
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.client import ClientOptions, ConfigError, ServerUnreachable, Unauthorized, connect, parse_kubeconfig
from kinformer.client.config import Endpoint, endpoint_from_url, load_endpoint, load_in_cluster, load_kubeconfig
from kinformer.clock import FakeClock, RealClock
from tests.client.authority import Authority
from tests.client.conftest import ScriptedServer, Write


async def test_a_kubeconfig_with_a_token(server: ScriptedServer, kubeconfig: Write) -> None:
    server.answer({"gitVersion": "v1.36.2"})

    async with connect(kubeconfig(server.url, user={"token": "abc"})) as client:
        assert (await client.server_version()).git_version == "v1.36.2"

    assert server.requests[0].headers["authorization"] == "Bearer abc"


async def test_a_kubeconfig_with_a_password(kubeconfig: Write) -> None:
    endpoint = await load_kubeconfig(kubeconfig(user={"username": "me", "password": "pw"}))

    assert endpoint.credentials.header == "Basic " + base64.b64encode(b"me:pw").decode()
    assert not await endpoint.credentials.refresh()


async def test_a_username_needs_no_password(kubeconfig: Write) -> None:
    endpoint = await load_kubeconfig(kubeconfig(user={"username": "me"}))

    assert endpoint.credentials.header == "Basic " + base64.b64encode(b"me:").decode()


@pytest.mark.parametrize(
    "user",
    [
        {"token": "t", "username": "me", "password": "pw"},
        {"tokenFile": "/t", "username": "me"},
        {"exec": {"command": "a"}, "auth-provider": {"name": "b"}},
    ],
    ids=lambda user: "-".join(user),
)
async def test_a_user_authenticates_in_one_way_only(kubeconfig: Write, user: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"user 'u': it has both (token|tokenFile|exec) and .*: want one of them"):
        await load_kubeconfig(kubeconfig(user=user))


async def test_another_context_than_the_current_one(kubeconfig: Write) -> None:
    path = kubeconfig(
        clusters=[{"name": name, "cluster": {"server": f"http://{name}"}} for name in ("a", "b")],
        contexts=[{"name": name, "context": {"cluster": name}} for name in ("a", "b")],
        **{"current-context": "a"},
    )

    assert (await load_kubeconfig(path)).server == "http://a"
    assert (await load_kubeconfig(path, "b")).server == "http://b"
    assert (await load_kubeconfig(path, "b")).host == "b"


async def test_a_kubeconfig_may_be_json_indented_by_tabs() -> None:
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://one"}}],
    }

    assert (await parse_kubeconfig(json.dumps(content, indent="\t").encode())).server == "http://one"


async def test_several_kubeconfigs_are_one(kubeconfig: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").touch()
    first = kubeconfig("http://one", "one", contexts=[])
    second = kubeconfig("http://two", "two")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join((str(tmp_path / "empty"), first, "/does/not/exist", second)))

    assert (await load_endpoint(None, None, in_cluster=None, clock=RealClock())).server == "http://one"


async def test_the_one_in_the_home_directory(kubeconfig: Write, tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    kubeconfig("http://home", ".kube/config")

    async with connect() as client:
        assert client.server == "http://home"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "there is no such file"),
        ("a: [b", "while parsing a flow sequence"),
        (b"a: \xff\xfe\x80", "cannot be read as YAML: invalid start byte"),
        ("just text", "it is not a kubeconfig"),
        ("", "it has no current-context"),
        ("{}", "it has no current-context, and none was asked for"),
        ("current-context: x", r"it has no context 'x' \(it has: none\)"),
        ("{current-context: x, contexts: [{name: y}, {name: z}]}", r"it has no context 'x' \(it has: y, z\)"),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: c}}]}",
            r"context 'x' names the cluster 'c', which does not exist \(there are: none\)",
        ),
        ("{current-context: x, contexts: [{name: x}], clusters: []}", "context 'x' names no cluster"),
        ("{current-context: x, contexts: [{name: x}, {name: x}]}", "two of its contexts are called 'x'"),
        ("{current-context: x, contexts: 5}", "its contexts are not a list"),
        ("{current-context: x, contexts: [{context: {}}]}", "one of its contexts has no name"),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: [a]}]}",
            "the cluster's server is ''",
        ),
    ],
)
async def test_a_broken_kubeconfig_is_one_line_that_names_it(content: Any, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "broken"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(ConfigError, match=complaint) as caught:
        await load_kubeconfig(str(path))

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_kubeconfig_may_come_through_a_pipe() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(b'{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],')
        pipe.write(b'"clusters":[{"name":"c","cluster":{"server":"http://piped"}}]}')

    try:
        assert (await load_kubeconfig(f"/dev/fd/{reading}")).server == "http://piped"
    finally:
        os.close(reading)


async def test_of_several_files_the_broken_one_is_named(kubeconfig: Write, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("a: [b")

    with pytest.raises(ConfigError, match=r"bad cannot be read as YAML"):
        await load_kubeconfig(os.pathsep.join((kubeconfig(), str(bad))))


async def test_an_unknown_context_is_named_with_those_that_there_are(kubeconfig: Write) -> None:
    with pytest.raises(ConfigError, match=r"it has no context 'there' \(it has: here\)"):
        async with connect(kubeconfig(), "there"):
            pass


async def test_a_certificate_that_is_not_there_is_named(kubeconfig: Write) -> None:
    with pytest.raises(ConfigError, match=r"kubeconfig .*/config: .*/nope\.crt"):
        await load_kubeconfig(kubeconfig("https://h", cluster={"certificate-authority": "/nope.crt"}))


async def test_a_certificate_that_is_none_is_named(kubeconfig: Write, tmp_path: Path) -> None:
    wrong = tmp_path / "ca.crt"
    wrong.write_text("no certificate")

    with pytest.raises(ConfigError, match=r"kubeconfig .*/config: certificate authority .*/ca\.crt: "):
        await load_kubeconfig(kubeconfig("https://h", cluster={"certificate-authority": str(wrong)}))
    with pytest.raises(ConfigError, match=r"client certificate .*/ca\.crt: "):
        endpoint_from_url("https://h", cert_file=wrong)


async def test_a_token_file_is_read_again(kubeconfig: Write, tmp_path: Path, clock: FakeClock) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    endpoint = await load_kubeconfig(kubeconfig(user={"tokenFile": str(token)}), clock=clock)
    assert endpoint.credentials.header == "Bearer one"
    assert not endpoint.credentials.is_due

    token.write_text("two")
    clock.turn(60)

    assert endpoint.credentials.is_due
    assert await endpoint.credentials.refresh()
    assert endpoint.credentials.header == "Bearer two"
    assert not endpoint.credentials.is_due
    token.unlink()
    with pytest.raises(ConfigError, match=r"kubeconfig .*: cannot renew the credentials: "):
        await endpoint.credentials.refresh()


async def test_a_token_is_used_until_the_file_beside_it_can_be_read(kubeconfig: Write, tmp_path: Path) -> None:
    token = tmp_path / "token"
    endpoint = await load_kubeconfig(kubeconfig(user={"token": "first", "tokenFile": "token"}))

    assert endpoint.credentials.header == "Bearer first"

    token.write_text("second")
    await endpoint.credentials.refresh()
    token.unlink()
    with pytest.raises(ConfigError):
        await endpoint.credentials.refresh()

    assert endpoint.credentials.header == "Bearer second"


def exec_plugin(path: Path, expires: str | None) -> dict[str, Any]:
    """A plugin that counts how often it was asked, in the token that it gives."""
    status = {"expirationTimestamp": expires} if expires else {}
    path.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(path.with_suffix('.count'))!r})\n"
        "asked = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(asked))\n"
        f"status = {{'token': f'token-{{asked}}', **{status!r}}}\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential', "
        "'status': status}))\n"
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(path)],
        }
    }


@pytest.mark.parametrize("expires", [None, "2999-01-01T00:00:00Z"])
async def test_an_exec_plugin_is_asked_again_when_what_it_gave_is_refused(
    expires: str | None, server: ScriptedServer, kubeconfig: Write, tmp_path: Path, clock: FakeClock
) -> None:
    path = kubeconfig(server.url, user=exec_plugin(tmp_path / "plugin.py", expires))
    server.answer(b"1")
    server.answer(b"2")
    server.refuse(401, "Unauthorized")
    server.answer(b"3")

    async with connect(path, clock=clock) as client:
        await client.request("GET", "/x")
        clock.turn(61)
        await client.request("GET", "/x")
        await client.request("GET", "/x")

    tokens = [request.headers["authorization"] for request in server.requests]
    assert tokens == ["Bearer token-1", "Bearer token-1", "Bearer token-1", "Bearer token-2"]


async def test_an_exec_plugin_is_asked_again_when_its_token_has_expired(
    kubeconfig: Write, tmp_path: Path, clock: FakeClock
) -> None:
    endpoint = await load_kubeconfig(
        kubeconfig(user=exec_plugin(tmp_path / "plugin.py", "2020-01-01T00:00:00Z")), clock=clock
    )

    assert await endpoint.credentials.refresh()
    assert endpoint.credentials.header == "Bearer token-2"


async def test_a_token_stands_in_for_a_file_that_was_never_there(kubeconfig: Write, tmp_path: Path) -> None:
    endpoint = await load_kubeconfig(kubeconfig(user={"token": "at first", "tokenFile": "token"}))
    assert endpoint.credentials.header == "Bearer at first"

    (tmp_path / "token").write_text("of the file")
    await endpoint.credentials.refresh()
    (tmp_path / "token").unlink()
    with pytest.raises(ConfigError, match="No such file"):
        await endpoint.credentials.refresh()

    assert endpoint.credentials.header == "Bearer of the file"


@pytest.mark.parametrize("own", ["token", "username", "client-certificate"])
async def test_a_plugin_is_not_run_for_a_user_with_credentials(
    own: str, kubeconfig: Write, tmp_path: Path, authority: Authority
) -> None:
    cert, key = authority.client
    values = {"token": {"token": "own"}, "username": {"username": "me"}}
    certificate = {"client-certificate-data": b64(cert), "client-key": str(key)}
    plugin = exec_plugin(tmp_path / "plugin.py", None)

    endpoint = await load_kubeconfig(kubeconfig("https://h", user={**plugin, **values.get(own, certificate)}))

    assert not (tmp_path / "plugin.count").exists()
    assert "token-1" not in endpoint.credentials.header


async def test_an_exec_plugin_that_fails_is_named(kubeconfig: Write) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/does/not/exist"}}

    with pytest.raises(ConfigError, match=r"kubeconfig .*/config: .*/does/not/exist"):
        await load_kubeconfig(kubeconfig(user=user))


async def test_a_token_that_the_server_refuses_is_one_line(server: ScriptedServer, kubeconfig: Write) -> None:
    server.refuse(401, "Unauthorized", "Unauthorized")

    async with connect(kubeconfig(server.url, user={"token": "wrong"})) as client:
        with pytest.raises(Unauthorized) as caught:
            await client.server_version()

    assert str(caught.value) == f"the server refused the credentials for {server.url}/version: Unauthorized"


@pytest.fixture
def service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: Authority) -> Path:
    token = tmp_path / "token"
    token.write_text("sa-1")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (tmp_path / "ca.crt").write_bytes(authority.ca.read_bytes())
    monkeypatch.setattr("kinformer.client.config._SERVICE_ACCOUNT", tmp_path)
    return token


async def test_inside_a_pod_its_service_account_is_who_asks(service_account: Path) -> None:
    async with connect() as client:
        assert client.server == "https://10.0.0.1:443"
        credentials = client._transport.endpoint.credentials

    assert credentials.header == "Bearer sa-1"


async def test_a_service_accounts_token_is_read_again_after_a_minute(service_account: Path, clock: FakeClock) -> None:
    endpoint = await load_in_cluster(clock=clock)
    rewrite(service_account, "sa-2\n")
    assert not endpoint.credentials.is_due
    clock.turn(60)

    assert endpoint.credentials.is_due
    await endpoint.credentials.keep_fresh()
    assert endpoint.credentials.header == "Bearer sa-2"


async def test_a_refused_service_account_token_is_read_again_at_once(service_account: Path) -> None:
    endpoint = await load_in_cluster()
    rewrite(service_account, "sa-2\n")

    assert await endpoint.credentials.refresh(refused=True)
    assert endpoint.credentials.header == "Bearer sa-2"


async def test_a_service_accounts_token_that_is_gone_is_named(
    service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(service_account, "")

    with pytest.raises(ConfigError, match=r"in-cluster configuration: token file .*: the file is empty"):
        await load_in_cluster()


async def test_outside_of_a_cluster_there_is_none() -> None:
    with pytest.raises(ConfigError, match=r"in-cluster configuration: .*KUBERNETES_SERVICE_PORT are not set"):
        async with connect(in_cluster=True):
            pass
    with pytest.raises(ConfigError, match=r"/\.kube/config is not there, KUBECONFIG is not set"):
        async with connect():
            pass


async def test_credentials_without_the_url_of_their_server_are_refused(kubeconfig: Write) -> None:
    with pytest.raises(ConfigError, match=r"connect\(\) has token, verify and no url"):
        async with connect(kubeconfig("http://named"), token="t", verify=False):
            pass


async def test_a_misspelt_keyword_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'tokn': want some of token, ca_file"):
        async with connect(url="http://h", tokn="t"):  # type: ignore[call-arg]
            pass


async def test_a_folder_is_no_kubeconfig_and_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"kubeconfig {tmp_path}: it is a folder"):
        async with connect(tmp_path):
            pass


async def test_a_kubeconfig_comes_before_the_cluster_around(service_account: Path, kubeconfig: Write) -> None:
    async with connect(kubeconfig("http://named")) as client:
        assert client.server == "http://named"
    with pytest.raises(ConfigError, match="there is no such file"):
        async with connect(in_cluster=False):
            pass


def test_the_environments_proxy_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "internal")

    assert endpoint_from_url("https://outside").proxy == "http://proxy:3128"
    assert endpoint_from_url("https://internal").proxy is None
    assert endpoint_from_url("https://localhost:6443").proxy is None
    assert endpoint_from_url("https://outside", proxy="http://other").proxy == "http://other"


async def test_a_proxy_is_asked_in_the_servers_place(server: ScriptedServer, kubeconfig: Write) -> None:
    server.answer(b"proxied")

    async with connect(kubeconfig("http://cluster.example", cluster={"proxy-url": server.url})) as client:
        assert await client.request("GET", "/x") == b"proxied"

    assert server.requests[0].target == "http://cluster.example/x"


def rewrite(path: Path, text: str) -> None:
    path.write_text(text)


def b64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


async def test_client_certificates_and_the_servers_other_name(
    server: ScriptedServer, tls_server: str, kubeconfig: Write, authority: Authority
) -> None:
    cert, key = authority.client
    path = kubeconfig(
        tls_server,
        cluster={"certificate-authority-data": b64(authority.ca), "tls-server-name": "kube.example"},
        user={"client-certificate-data": b64(cert), "client-key-data": b64(key)},
    )
    server.answer(b"over TLS")
    stream = server.stream()

    async with connect(path) as client:
        assert client.certificate_authorities == authority.ca.read_bytes()
        assert await client.request("GET", "/x") == b"over TLS"
        async with client.resource(dict, ("", "v1", "pods")).watch() as events:
            await stream.send({"type": "ADDED", "object": {"metadata": {"name": "p"}}})
            (event,) = await anext(events)

    assert event.object["metadata"]["name"] == "p"


async def test_the_same_by_url(server: ScriptedServer, tls_server: str, authority: Authority) -> None:
    cert, key = authority.client
    server.answer(b"over TLS", times=3)

    known_by = authority.ca.read_bytes()
    for trust, authorities in (
        ({"ca_data": known_by, "server_hostname": "kube.example"}, known_by),
        ({"ca_file": authority.ca, "server_hostname": "kube.example"}, known_by),
        ({"verify": False}, b""),
    ):
        async with connect(url=tls_server, cert_file=cert, key_file=key, **trust) as client:
            assert client.certificate_authorities == authorities
            assert await client.request("GET", "/x") == b"over TLS"


class TunnelProxy:
    """A proxy that connects its clients with whom they ask for, in the manner of HTTP's CONNECT."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n"):
        self.answer = answer
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        target = head.split(b" ")[1].decode()
        self.asked.append(target)
        writer.write(self.answer)
        if b" 200 " not in self.answer:
            writer.close()
            return
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        self.writers.append(far_writer)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_on, reader, far_writer)
            tasks.start_soon(self._pass_on, far_reader, writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()


@asynccontextmanager
async def tunnel(proxy: TunnelProxy) -> AsyncIterator[str]:
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    listener.close()
    for writer in proxy.writers:
        writer.close()
    await anyio.wait_all_tasks_blocked()


async def test_a_proxy_passes_tls_through(
    server: ScriptedServer, tls_server: str, kubeconfig: Write, authority: Authority
) -> None:
    cert, key = authority.client
    cluster = {"certificate-authority": str(authority.ca), "tls-server-name": "kube.example"}
    user = {"client-certificate": str(cert), "client-key": str(key)}
    server.answer(b"through")
    stream = server.stream()
    proxy = TunnelProxy()

    async with tunnel(proxy) as proxy_url:
        path = kubeconfig(tls_server, cluster={**cluster, "proxy-url": proxy_url}, user=user)
        async with connect(path, options=ClientOptions(user_agent="canary", headers={"X-Mine": "canary"})) as client:
            assert await client.request("GET", "/x") == b"through"
            async with client.resource(dict, ("", "v1", "pods")).watch() as events:
                await stream.send({"type": "ADDED", "object": {"metadata": {"name": "p"}}})
                assert len(await anext(events)) == 1

    assert not any(b"canary" in head for head in proxy.heads)
    assert set(proxy.asked) == {tls_server.removeprefix("https://")}


async def test_a_proxy_that_does_not_let_us_through_is_named(tls_server: str) -> None:
    async with (
        tunnel(TunnelProxy(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")) as proxy_url,
        connect(url=tls_server, proxy=proxy_url) as client,
    ):
        with pytest.raises(ServerUnreachable, match=r"the proxy at http://127\.0\.0\.1:\d+ answered 407 Who are you"):
            await client.request("GET", "/x")
    async with connect(url=tls_server, proxy="http://127.0.0.1:1") as client:
        with pytest.raises(ServerUnreachable, match=r"no connection to the proxy at http://127\.0\.0\.1:1: Connection"):
            await client.request("GET", "/x")
    async with connect(url=tls_server, proxy="http://proxy.invalid") as client:
        with pytest.raises(ServerUnreachable, match=r"no connection to the proxy at http://proxy\.invalid: "):
            await client.request("GET", "/x")


async def test_a_failed_handshake_keeps_no_memory(tls_server: str, kubeconfig: Write) -> None:
    gc.collect()
    gc.disable()
    try:
        async with connect(kubeconfig(tls_server)) as client:
            for _ in range(5):
                with pytest.raises(ServerUnreachable, match="not trusted"):
                    await client.server_version()
            await anyio.wait_all_tasks_blocked()
            left = [each for each in gc.get_objects() if isinstance(each, SSLProtocol) and not each._server_side]
    finally:
        gc.enable()

    assert len(left) <= 1  # of the last one


async def test_a_server_that_is_not_trusted_is_one_line(tls_server: str, kubeconfig: Write) -> None:
    async with connect(kubeconfig(tls_server)) as client:
        with pytest.raises(ServerUnreachable, match=r"its certificate is not trusted: .*self.signed") as caught:
            await client.server_version()

    assert "\n" not in str(caught.value)


async def test_skipping_verification_in_a_kubeconfig(
    server: ScriptedServer, tls_server: str, kubeconfig: Write, authority: Authority
) -> None:
    cert, key = authority.client
    user = {"client-certificate": str(cert), "client-key": str(key)}
    server.answer(b"ok")

    async with connect(kubeconfig(tls_server, cluster={"insecure-skip-tls-verify": True}, user=user)) as client:
        assert await client.request("GET", "/x") == b"ok"


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        ({"insecure-skip-tls-verify": "false"}, "its insecure-skip-tls-verify is neither true nor false"),
        ({"insecure-skip-tls-verify": True, "certificate-authority": "/ca"}, "both .* and certificate-authority: want"),
        ({"insecure-skip-tls-verify": True, "certificate-authority-data": "YQ=="}, "both .* and certificate-author"),
    ],
    ids=["text", "file", "data"],
)
async def test_verification_is_skipped_only_where_nothing_contradicts_it(
    kubeconfig: Write, cluster: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        await load_kubeconfig(kubeconfig("https://127.0.0.1:1", cluster=cluster))


def test_an_endpoint_is_just_what_was_said() -> None:
    endpoint = endpoint_from_url("http://h:1/prefix/", token="t")

    assert (endpoint.server, endpoint.host, endpoint.tls) == ("http://h:1/prefix", "h:1", None)
    assert endpoint.credentials.header == "Bearer t"
    assert Endpoint(server="http://h").credentials.header == ""
    assert json.dumps(endpoint.server)


@pytest.mark.parametrize(
    ("of_cluster", "of_user"),
    [
        ({"certificate-authority": "/etc/passwd"}, {}),
        *(({}, {name: "/etc/passwd"}) for name in ("client-certificate", "client-key", "tokenFile")),
        *(({}, {name: {}}) for name in ("exec", "auth-provider")),
    ],
    ids=lambda entry: "".join(entry),
)
async def test_a_kubeconfig_of_somebody_else_names_nothing_of_this_host(
    of_cluster: dict[str, Any], of_user: dict[str, Any]
) -> None:
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1", **of_cluster}}],
        "users": [{"name": "u", "user": {"token": "t", **of_user}}],
    }
    name = next(iter({**of_cluster, **of_user}))

    with pytest.raises(ConfigError, match=f"^Secret a/b: .*{name} is not allowed here"):
        await parse_kubeconfig(json.dumps(content).encode(), where="Secret a/b")


@pytest.mark.parametrize("name", ["certificate-authority-data", "client-certificate-data", "client-key-data"])
async def test_data_that_is_not_in_base64_is_not_left_out(kubeconfig: Write, authority: Authority, name: str) -> None:
    data = {"certificate-authority-data": authority.ca, "client-certificate-data": authority.client[0]}
    given = {**{key: b64(path) for key, path in data.items()}, "client-key-data": b64(authority.client[1]), name: "!!!"}
    cluster = {key: value for key, value in given.items() if key.startswith("certificate")}
    user = {key: value for key, value in given.items() if key.startswith("client")}

    with pytest.raises(ConfigError, match=f"its {name} is not in base64"):
        await load_kubeconfig(kubeconfig("https://127.0.0.1:1", cluster=cluster, user=user))


async def test_data_in_base64_may_be_folded_into_lines(kubeconfig: Write, authority: Authority) -> None:
    folded = base64.encodebytes(authority.ca.read_bytes()).decode()

    endpoint = await load_kubeconfig(kubeconfig("https://127.0.0.1:1", cluster={"certificate-authority-data": folded}))

    assert endpoint.authorities == authority.ca.read_bytes()


@pytest.mark.parametrize("url", ["https://localhost:6443\n", "https://localhost:6443/a b", "https://local\thost"])
def test_a_url_with_spaces_in_it_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="want http://HOST:PORT"):
        endpoint_from_url(url)


def test_of_a_servers_url_no_more_than_the_path_counts() -> None:
    assert endpoint_from_url("https://localhost/k8s/clusters/c-1/?a=b#c").server == "https://localhost/k8s/clusters/c-1"


def test_a_token_of_bytes_is_refused_without_being_shown() -> None:
    token: Any = b"s3cret"

    with pytest.raises(TypeError, match=r"^the token is bytes: want a text$"):
        endpoint_from_url("https://localhost", token=token)
