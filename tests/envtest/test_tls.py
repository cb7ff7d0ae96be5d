from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest
import yaml

from kinformer.client import connect
from kinformer.envtest import ApiServer, ServerError
from kinformer.models import V1Namespace

pytest.importorskip("cryptography")


async def test_the_kubeconfig_trusts_the_server(tmp_path: Path) -> None:
    async with ApiServer(tls=True, plugins=False) as server:
        server.write_kubeconfig(tmp_path / "config")
        async with connect(tmp_path / "config") as client:
            assert (await client.resource(V1Namespace).get("default")).metadata.name == "default"


async def test_certificates_are_what_a_strict_client_wants() -> None:
    async with ApiServer(tls=True, plugins=False) as server:
        assert server.authority is not None
        context = ssl.create_default_context(cadata=server.authority.certificate.decode())
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on
        url, headers = f"{server.url}/version", {"Authorization": f"Bearer {server.token}"}
        async with aiohttp.ClientSession(headers=headers) as session, session.get(url, ssl=context) as response:
            assert response.status == 200


async def test_a_client_certificate_says_who_asks(tmp_path: Path) -> None:
    async with ApiServer(tls=True, plugins=False) as server:
        assert server.authority is not None
        pair = server.authority.issue("jane", ("developers",))
        pem = tmp_path / "jane.pem"
        pem.write_bytes(pair.certificate + pair.key)
        context = ssl.create_default_context(cadata=server.authority.certificate.decode())
        context.load_cert_chain(pem)
        url = f"{server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
        async with aiohttp.ClientSession() as session, session.post(url, json={}, ssl=context) as response:
            user = (await response.json())["status"]["userInfo"]
    assert (user["username"], user["groups"]) == ("jane", ["developers", "system:authenticated"])


async def test_a_kubeconfig_may_have_a_certificate_beside_the_token(tmp_path: Path) -> None:
    async with ApiServer(tls=True, plugins=False) as server:
        config = yaml.safe_load(server.kubeconfig(certificate=True))
        user = config["users"][0]["user"]
        assert user.pop("token") == server.token
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        async with connect(tmp_path / "config") as client:
            assert (await client.resource(V1Namespace).create({"metadata": {"name": "a"}})).metadata.name == "a"


async def test_without_tls_no_kubeconfig_has_a_certificate() -> None:
    async with ApiServer(plugins=False) as server:
        with pytest.raises(ServerError, match="needs a server with TLS"):
            server.kubeconfig(certificate=True)


async def test_a_client_that_does_not_trust_the_server_sends_nothing() -> None:
    async with ApiServer(tls=True, plugins=False) as server, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(server.url)


async def test_a_server_with_data_keeps_its_authority_over_restarts(tmp_path: Path) -> None:
    certificates = []
    for _ in range(2):
        async with ApiServer(tls=True, plugins=False, data=tmp_path / "data.db", token="t") as server:
            assert server.authority is not None
            certificates.append(server.authority.certificate)
            context = ssl.create_default_context(cadata=certificates[0].decode())
            pair = server.authority.issue("jane", ("system:masters",))
            pem = tmp_path / "jane.pem"
            pem.write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(pem)
            async with aiohttp.ClientSession() as session, session.get(f"{server.url}/api/v1/pods", ssl=context) as got:
                assert got.status == 200
            await server.restart(keep_data=False)
            certificates.append(server.authority.certificate)
    assert len(set(certificates)) == 1
