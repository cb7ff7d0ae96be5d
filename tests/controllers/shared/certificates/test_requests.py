"""What a request asks for is read from its PKCS#10 request, and broken ones are refused by name."""

from __future__ import annotations

import pytest

from kinformer_controllers.shared.certificates.pkcs10 import element
from kinformer_controllers.shared.certificates.requests import (
    RequestUnreadable,
    is_approved,
    is_decided,
    is_failed,
    read_request,
)
from tests.controllers.shared.certificates.odd import der_name, der_request, extension_request
from tests.controllers.shared.certificates.requests import condition, make_request, pem_of_request


def test_names_are_read() -> None:
    pem = pem_of_request(
        "n", ("a", "b"), dns=("x.example",), ips=("::1",), uris=("spiffe://x",), emails=("a@b.example",)
    )

    found = read_request(make_request(pem))

    assert found[2:] == ("n", ("a", "b"), ("x.example",), ("a@b.example",), ("::1",), ("spiffe://x",))


def test_a_request_without_names_has_none() -> None:
    assert read_request(make_request(pem_of_request("", ())))[2:] == ("", (), (), (), (), ())


def test_text_before_the_request_is_skipped_and_after_it_unread() -> None:
    pem = pem_of_request("n")

    assert read_request(make_request(b"made by hand\n" + pem + b"-----BEGIN garbage")).common_name == "n"


@pytest.mark.parametrize(
    "pem",
    [
        b"",
        b"hello",
        b"-----BEGIN CERTIFICATE REQUEST-----",
        b"-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n" + pem_of_request(),
        b"-----BEGIN CERTIFICATE REQUEST-----\nMA==\n-----END CERTIFICATE REQUEST-----\n",
        pem_of_request().replace(b"M", b"!", 1),
        # padding that the content does not need
        next(pem for pem in iter(pem_of_request, b"") if b"=" not in pem).replace(b"\n-----END", b"=\n-----END"),
        # Go passes over the first block, because it does not begin a line or is damaged, and reads the second one.
        b"x" + pem_of_request("system:masters") + pem_of_request(),
        b"-----BEGIN CERTIFICATE REQUEST-----\n!\n-----END CERTIFICATE REQUEST-----\n" + pem_of_request(),
        der_request(der_name(("2.5.4.3", 0x13, b"a_b"))),
        der_request(der_name(("2.5.4.3", 0x1E, b"\xd8\x3d\xde\x00"))),
        der_request(der_name(), extension_request(element(0x82, b"a")), extension_request(element(0x82, b"b"))),
        der_request(der_name(), extension_request(element(0x86, b"http://a..b/"))),
        der_request(der_name(), extension_request(element(0x86, b"//no.scheme/"))),
        der_request(der_name(), extension_request(element(0x86, b"http://a b/"))),
        der_request(der_name(), extension_request(element(0x87, b"123"))),
        der_request(der_name(), extension_request(element(0x82, b"\xff"))),
        der_request(der_name(), version=9),
        der_request(der_name() + b"\x05\x00"),
    ],
)
def test_what_is_no_request_is_refused_by_name(pem: bytes) -> None:
    with pytest.raises(RequestUnreadable, match="unable to parse csr 'r'"):
        read_request(make_request(pem))


@pytest.mark.parametrize(
    ("types", "approved", "decided"),
    [
        ((), False, False),
        (("Approved",), True, True),
        (("Denied",), False, True),
        (("Approved", "Denied"), False, True),
        (("Failed",), False, False),
    ],
)
def test_a_denial_outweighs_an_approval(types: tuple[str, ...], approved: bool, decided: bool) -> None:
    request = make_request(conditions=tuple(map(condition, types)))

    assert is_approved(request) == approved
    assert is_decided(request) == decided


@pytest.mark.parametrize(("status", "failed"), [("True", True), (None, True), ("False", False)])
def test_a_request_has_failed_unless_the_condition_says_no(status: str | None, failed: bool) -> None:
    assert is_failed(make_request(conditions=(condition("Failed", status=status),))) == failed
