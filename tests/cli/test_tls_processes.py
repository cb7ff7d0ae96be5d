"""``kinformer manager --metrics-bind-address`` with TLS, as a process: what it shows, and whom it answers."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import anyio
import pytest

from kinformer.envtest import ApiServer
from kinformer.envtest.certificates import Authority
from tests.cli.commands import kinformer, output_until, running


@asynccontextmanager
async def manager(folder: Path, *flags: object) -> AsyncIterator[tuple[str, str]]:
    """A manager's endpoint, and a token that may see everything."""
    kubeconfig = folder / "kubeconfig"
    with anyio.fail_after(60):
        async with ApiServer() as server:
            server.write_kubeconfig(kubeconfig)
            where = ("--kubeconfig", kubeconfig, "--metrics-bind-address", "127.0.0.1:0")
            async with running("manager", "--controllers", "replicationcontroller", *where, *flags) as process:
                printed = await output_until(process, "tls=")
                port = re.search(r"endpoint_listening\b.*\bport=(\d+)", re.sub(r"\x1b\[\d*m", "", printed))
                assert port is not None, printed
                yield f"https://127.0.0.1:{port[1]}", server.token


async def status(url: str, context: ssl.SSLContext, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url, ssl=context) as answer:
        return answer.status


async def test_it_serves_its_certificate_probes_to_all_and_metrics_to_some(
    tmp_path: Path,
) -> None:
    authority, other = Authority(), Authority()
    pair = authority.issue("manager", hosts=("127.0.0.1",))
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    cert.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    trusts = ssl.create_default_context(cadata=authority.certificate.decode())
    distrusts = ssl.create_default_context(cadata=other.certificate.decode())

    async with manager(tmp_path, "--tls-cert-file", cert, "--tls-private-key-file", key) as (url, token):
        assert await status(f"{url}/livez", trusts) == 200
        assert await status(f"{url}/metrics", trusts) == 403  # as anonymous
        assert await status(f"{url}/metrics", trusts, "nobody's") == 401
        assert await status(f"{url}/metrics", trusts, token) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await status(f"{url}/livez", distrusts)


async def test_without_files_it_makes_a_certificate_and_other_paths_can_be_open(tmp_path: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    open_paths = ("--authorization-always-allow-paths", "/metrics")

    async with manager(tmp_path, "--metrics-secure", *open_paths) as (url, token):
        assert await status(f"{url}/metrics", context) == 200
        assert await status(f"{url}/livez", context) == 403
        assert await status(f"{url}/livez", context, token) == 200


async def test_a_certificate_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        files = ("--tls-cert-file", tmp_path / "missing.crt", "--tls-private-key-file", tmp_path / "missing.key")
        where = ("--kubeconfig", tmp_path / "kubeconfig", "--metrics-bind-address", "127.0.0.1:0")
        done = await kinformer("manager", "--controllers", "replicationcontroller", *where, *files)

    assert done.status == 1
    assert "missing.crt" in done.err
    assert "Traceback" not in done.err
