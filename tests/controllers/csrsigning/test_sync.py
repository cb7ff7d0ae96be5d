"""Approved requests get a certificate, if their signer signs such; or the reason why it does not."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from kinformer.manager import ControllerContext, ControllerDisabled
from kinformer.models import V1CertificateSigningRequest
from kinformer.options import OptionError
from kinformer_controllers.csrsigning.authority import CertificateAuthority
from kinformer_controllers.csrsigning.controller import SigningController, certificate_life
from kinformer_controllers.csrsigning.spec import SignerFiles
from tests.controllers.cluster import Cluster
from tests.controllers.csrsigning.authorities import write_authority
from tests.controllers.objects import FakeContext, conflict, forbidden
from tests.controllers.shared.certificates.requests import condition, make_request, pem_of_request

YEAR = timedelta(days=365)
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
LEGACY = "kubernetes.io/legacy-unknown"
APPROVED = (condition("Approved"),)
AS_CLIENT = ("digital signature", "client auth")
AS_SERVER = ("digital signature", "server auth")
WITH_RSA = ("key encipherment",)
SERVER_PEM = pem_of_request(dns=("n.example",), ips=("10.0.0.1",))


class World(Cluster):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        files = write_authority(folder)
        options = {"cluster_signing_cert_file": files.certificate, "cluster_signing_key_file": files.key}
        self.signing = SigningController(FakeContext(self.client, self.informers, clock=self.clock, **options))

    async def handle(self, request: Any) -> Any:
        """Handle a request, and give the status that it has then."""
        self.put(request)
        await self.signing.handle(request)
        return self.on_server(V1CertificateSigningRequest, "r").status


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    ("signer", "pem", "usages"),
    [
        (CLIENT, pem_of_request("alice", ("devs",)), AS_CLIENT + WITH_RSA),
        (CLIENT, pem_of_request("alice", ("devs",)), AS_CLIENT),
        (KUBELET, pem_of_request(), AS_CLIENT + WITH_RSA),
        (KUBELET, pem_of_request(), AS_CLIENT),
        (LEGACY, pem_of_request("anything", ()), ("any",)),
        (SERVING, SERVER_PEM, AS_SERVER + WITH_RSA),
        (SERVING, SERVER_PEM, AS_SERVER),
    ],
)
async def test_an_approved_request_is_signed(world: World, signer: str, pem: bytes, usages: tuple[str, ...]) -> None:
    request = make_request(pem, signer=signer, usages=usages, conditions=APPROVED)

    status = await world.handle(request)

    assert world.requests == ["update_status CertificateSigningRequest r"]
    signed = x509.load_pem_x509_certificate(base64.b64decode(status.certificate))
    assert signed.subject == x509.load_pem_x509_csr(pem).subject
    assert [it.type for it in status.conditions] == ["Approved"]
    assert not request.status.certificate


@pytest.mark.parametrize(
    ("signer", "pem", "usages", "why"),
    [
        (CLIENT, pem_of_request("alice"), AS_SERVER, "invalid usage for client certificate: server auth"),
        (
            *(CLIENT, pem_of_request("alice"), ("digital signature",)),
            "missing required usage for client certificate: client auth",
        ),
        (KUBELET, pem_of_request("alice"), AS_CLIENT, "subject common name does not begin with system:node:"),
        (SERVING, pem_of_request(), AS_SERVER, "DNS or IP subjectAltName is required"),
        (
            *(SERVING, SERVER_PEM, AS_CLIENT),
            "usages did not match [digital signature key encipherment server auth]",
        ),
    ],
)
async def test_what_a_signer_does_not_sign_fails_with_the_reason(
    world: World, signer: str, pem: bytes, usages: tuple[str, ...], why: str
) -> None:
    status = await world.handle(make_request(pem, signer=signer, usages=usages, conditions=APPROVED))

    assert not status.certificate
    failed = status.conditions[1]
    assert (failed.type, failed.status, failed.reason) == ("Failed", "True", "SignerValidationFailure")
    assert failed.message == why
    assert failed.last_update_time == world.clock.now()


@pytest.mark.parametrize(
    "request_",
    [
        make_request(),
        make_request(conditions=(*APPROVED, condition("Denied"))),
        make_request(conditions=(*APPROVED, condition("Failed"))),
        make_request(conditions=APPROVED, signer="example.com/mine"),
        make_request(conditions=APPROVED, signer="kubernetes.io/unheard-of"),
    ],
    ids=["not approved", "denied", "failed", "somebody else's signer", "an unknown signer"],
)
async def test_other_requests_are_left_alone(world: World, request_: Any) -> None:
    await world.handle(request_)

    assert not world.requests


async def test_a_request_that_cannot_be_signed_fails_for_good(world: World) -> None:
    forged = bytearray(x509.load_pem_x509_csr(pem_of_request()).public_bytes(_der()))
    forged[-1] ^= 1
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.b64encode(forged) + b"\n-----END CERTIFICATE REQUEST-----"

    for request, why in (
        (make_request(b"hello", conditions=APPROVED), "unable to parse csr 'r'"),
        (make_request(pem, conditions=APPROVED), "unable to verify certificate request signature"),
        (make_request(signer=LEGACY, usages=("rule",), conditions=APPROVED), "unrecognized usage values: ['rule']"),
    ):
        status = await world.handle(request)
        assert status.conditions[1].type == "Failed"
        assert status.conditions[1].message.startswith(why)
        assert not status.certificate


@pytest.mark.parametrize("error", [forbidden(), conflict()])
async def test_a_certificate_that_the_server_does_not_take_is_made_again(world: World, error: Exception) -> None:
    world.errors["update_status CertificateSigningRequest"] = [error]

    with pytest.raises(type(error)):
        await world.handle(make_request(conditions=APPROVED))


@pytest.mark.parametrize(
    ("seconds", "life"),
    [
        (None, timedelta(hours=1)),
        (1800, timedelta(seconds=1800)),
        (3600, timedelta(hours=1)),
        (7200, timedelta(hours=1)),
        (600, timedelta(minutes=10)),
        (599, timedelta(minutes=10)),
        (-3600, timedelta(minutes=10)),
    ],
)
def test_a_certificate_is_valid_for_what_is_asked_for_within_limits(seconds: int | None, life: timedelta) -> None:
    assert certificate_life(seconds, timedelta(hours=1)) == life


def context(**options: Any) -> ControllerContext:
    world = Cluster()
    return ControllerContext(world.client, world.informers, options)


def test_without_an_authority_the_signers_do_not_run() -> None:
    with pytest.raises(ControllerDisabled, match="neither --cluster-signing-cert-file nor one for a signer"):
        SigningController(context())


def test_files_for_one_signer_leave_out_the_others(tmp_path: Path) -> None:
    files = write_authority(tmp_path)
    given = context(
        cluster_signing_legacy_unknown_cert_file=files.certificate, cluster_signing_legacy_unknown_key_file=files.key
    )

    assert SigningController(given).controller.name == "csrsigning"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"cluster_signing_cert_file": "c"}, "kubelet-serving has no file for its key"),
        ({"cluster_signing_kubelet_client_key_file": "k"}, "kubelet has no file for its certificate"),
        (
            {
                "cluster_signing_cert_file": "c",
                "cluster_signing_key_file": "k",
                "cluster_signing_kubelet_client_key_file": "k",
            },
            "cannot be given together with files for kubernetes.io/kube-apiserver-client-kubelet",
        ),
        (
            {"cluster_signing_cert_file": "/nowhere", "cluster_signing_key_file": "/nowhere"},
            "certificate authority /nowhere, /nowhere: No such file",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused_by_name(options: dict[str, str], why: str) -> None:
    with pytest.raises(OptionError, match=why):
        SigningController(context(**options))


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one, other = write_authority(tmp_path / "one"), write_authority(tmp_path / "other")
    broken = tmp_path / "broken"
    broken.write_text("hello")

    with pytest.raises(OptionError, match="the key is not the certificate's"):
        CertificateAuthority(SignerFiles(one.certificate, other.key))
    with pytest.raises(OptionError, match="certificate authority"):
        CertificateAuthority(SignerFiles(str(broken), one.key))
    with pytest.raises(OptionError, match="certificate authority"):
        CertificateAuthority(SignerFiles(one.certificate, str(broken)))
    two = Path(one.certificate).read_text() + Path(other.certificate).read_text()
    broken.write_text(two)
    with pytest.raises(OptionError, match="want 1 certificate, found 2"):
        CertificateAuthority(SignerFiles(str(broken), one.key))


def _der() -> Any:
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.DER
