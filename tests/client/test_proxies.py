"""Proxies: which one the environment names, whom it exempts, and those that cannot be used."""

from __future__ import annotations

import pytest

from kinformer.client import ConfigError, ServerUnreachable, connect
from kinformer.client.proxies import checked_proxy, environment_proxy, is_exempt, without_password
from tests.client.conftest import ScriptedServer, Write


@pytest.mark.parametrize(
    ("server", "no_proxy", "exempt"),
    [
        ("https://10.96.0.1:443", "10.0.0.0/8", True),
        ("https://11.96.0.1:443", "10.0.0.0/8", False),
        ("https://host", "10.0.0.0/8", False),
        ("https://10.96.0.1", "10.96.0.1/12", True),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://[::ffff:10.0.0.1]", "10.0.0.0/8", True),
        ("https://10.96.0.1", "10.96.0.1", True),
        ("https://10.96.0.1", "10.96.0.1:443", True),
        ("https://10.96.0.1", "10.96.0.1:6443", False),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://k8s.svc", ".svc", True),
        ("https://svc", ".svc", False),
        ("https://k8s.svc", "svc", True),
        ("https://k8s-svc", "svc", False),
        ("https://a.b.example", "*.example", True),
        ("https://K8S.Example", " k8s.EXAMPLE , other", True),
        ("https://anything", "*", True),
        ("https://anything", "nonsense/99,:,[", False),
        ("https://anything", "", False),
        ("https://localhost:6443", "", True),
        ("https://127.0.0.2:6443", "", True),
        ("https://[::1]:6443", "", True),
    ],
)
def test_whom_the_environment_exempts(server: str, no_proxy: str, exempt: bool) -> None:
    found = environment_proxy(server, {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": no_proxy})

    assert found == (None if exempt else "http://proxy:3128")


def test_the_variable_is_that_of_the_servers_scheme() -> None:
    environ = {"http_proxy": "http://plain:1", "HTTPS_PROXY": "secure:2", "https_proxy": "http://other:3"}

    assert environment_proxy("http://host", environ) == "http://plain:1"
    assert environment_proxy("https://host", environ) == "http://secure:2"
    assert environment_proxy("https://host", {"ALL_PROXY": "http://x"}) is None
    assert is_exempt("host", 443, "host:443")


@pytest.mark.parametrize(
    ("proxy", "complaint"),
    [
        ("socks5://127.0.0.1:1080", "SOCKS proxies are not supported, want http://HOST:PORT"),
        ("socks5h://user:secret@proxy:1080", "SOCKS proxies are not supported"),
        ("::garbage::", "want http://HOST:PORT"),
        ("ftp://user:secret@proxy", "want http://HOST:PORT"),
        ("http://", "want http://HOST:PORT"),
        ("http://proxy:99999999", "want http://HOST:PORT"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_refused_wherever_it_comes_from(
    proxy: str, complaint: str, kubeconfig: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ConfigError, match=f"the environment's https_proxy is .*{complaint}") as caught:
        async with connect(url="https://kube.example"):
            pass
    assert "secret" not in str(caught.value)

    monkeypatch.delenv("https_proxy")
    with pytest.raises(ConfigError, match=f"the proxy is .*{complaint}"):
        async with connect(url="https://kube.example", proxy=proxy):
            pass
    with pytest.raises(ConfigError, match=f"kubeconfig .*: the cluster's proxy-url is .*{complaint}"):
        async with connect(kubeconfig("http://kube.example", cluster={"proxy-url": proxy})):
            pass


def test_a_password_is_used_and_not_shown() -> None:
    url = "http://user:secret@proxy:3128/x"

    assert checked_proxy(url, "it") == url
    assert without_password(url) == "http://proxy:3128/x"
    assert without_password("proxy:3128") == "proxy:3128"


async def test_a_password_in_a_servers_url_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="with a user before it") as caught:
        async with connect(url="https://user:secret@host"):
            pass

    assert "secret" not in str(caught.value)


async def test_a_proxys_password_is_in_no_error(server: ScriptedServer) -> None:
    server.hang_up()
    async with connect(url="http://kube.example", proxy="http://user:secret@127.0.0.1:1") as client:
        with pytest.raises(Exception, match=r"no connection to the proxy at http://127\.0\.0\.1:1") as caught:
            await client.request("GET", "/x")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "what"), [(b"", "closed the connection"), (b"garbage\r\n\r\n", "answered something that is not HTTP")]
)
async def test_a_proxy_that_makes_no_tunnel_is_named_without_its_password(
    answer: bytes, what: str, server: ScriptedServer
) -> None:
    server.hang_up(answer)
    proxy = server.url.replace("http://", "http://user:secret@")
    async with connect(url="https://kube.example", proxy=proxy) as client:
        with pytest.raises(ServerUnreachable) as caught:  # also for a write: nothing of it was sent
            await client.request("PUT", "/x")

    assert str(caught.value) == f"cannot reach the server at https://kube.example: the proxy at {server.url} {what}"
