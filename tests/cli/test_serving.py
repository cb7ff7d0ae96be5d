"""What the flags of the endpoint come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from kinformer.cli.flags import ControllersCommand, duration, values_of_flags
from kinformer.cli.serving import ServingFlags, address_of, secure_serving_of
from kinformer.manager import OptionError, SecureServing

#: What no token is needed for.
PROBES = ("/healthz", "/readyz", "/livez")


def flags(*arguments: str) -> ServingFlags:
    parsed: list[ServingFlags] = []

    @click.command()
    @ServingFlags.add_to
    def command(**options: Any) -> None:
        parsed.append(ServingFlags.taken_from(options))

    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return parsed[0]


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        ((), None),
        (("--metrics-bind-address", "0"), None),
        (("--metrics-bind-address", ":8443"), ("0.0.0.0", 8443)),
        (("--metrics-bind-address", "[::1]:8443"), ("::1", 8443)),
        (("--secure-port", "10257"), ("0.0.0.0", 10257)),
        (("--secure-port", "10257", "--bind-address", "127.0.0.1"), ("127.0.0.1", 10257)),
    ],
)
def test_where_the_endpoint_listens(arguments: tuple[str, ...], address: tuple[str, int] | None) -> None:
    assert address_of(flags(*arguments)) == address


@pytest.mark.parametrize(
    ("arguments", "is_secure"),
    [
        (("--metrics-bind-address", "127.0.0.1:8080"), False),
        (("--metrics-bind-address", "127.8.9.1:8080"), False),
        (("--metrics-bind-address", "localhost:8080"), False),
        (("--metrics-bind-address", "[::1]:8080"), False),
        (("--metrics-bind-address", "127.0.0.1:8080", "--metrics-secure"), True),
        (("--metrics-bind-address", ":8080"), True),
        (("--metrics-bind-address", "10.0.0.1:8080"), True),
        (("--metrics-bind-address", "example.com:8080"), True),
        (("--metrics-bind-address", ":8080", "--metrics-secure=false"), False),
        (("--secure-port", "10257", "--bind-address", "127.0.0.1"), True),
        (("--secure-port", "10257", "--metrics-secure=false"), True),
        ((), False),
    ],
)
def test_only_loopback_is_open_to_everybody_unless_told_otherwise(arguments: tuple[str, ...], is_secure: bool) -> None:
    secure = secure_serving_of(flags(*arguments))

    assert secure == (SecureServing(None, None, PROBES) if is_secure else None)


def test_a_certificate_is_for_tls_on_loopback_too() -> None:
    files = ("--tls-cert-file", "a.crt", "--tls-private-key-file", "a.key")
    secure = secure_serving_of(flags("--metrics-bind-address", "127.0.0.1:1", *files))

    assert secure == SecureServing(Path("a.crt"), Path("a.key"), PROBES)


def test_other_paths_can_be_open() -> None:
    secure = secure_serving_of(
        flags("--secure-port", "1", "--authorization-always-allow-paths", "/livez, /readyz/*,/metrics")
    )

    assert secure is not None
    assert secure.always_allow == ("/livez", "/readyz/*", "/metrics")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--tls-cert-file", "a"), "go together"),
        (("--authorization-always-allow-paths", "livez"), "'livez': want /PATH"),
        (("--authorization-always-allow-paths", "/a*b"), "want /PATH"),
        (("--metrics-bind-address", ":1", "--secure-port", "2"), "want one of them"),
        (("--metrics-bind-address", ":99999"), "want HOST:PORT"),
        (("--secure-port", "1", "--tls-min-version", "1.2"), "--tls-min-version is '1.2': want one of VersionTLS10"),
        (("--secure-port", "1", "--tls-cipher-suites", "RC4"), "--tls-cipher-suites: 'RC4' is not a cipher suite"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(OptionError) as raised:
        secure_serving_of(flags(*arguments))

    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_flags_have_come_to_is_shown_with_the_defaults_of_controllers() -> None:
    shown: list[dict[str, Any]] = []

    @click.command(cls=ControllersCommand)
    @click.option("--retry", type=duration, default="90s", metavar="DURATION")
    @ServingFlags.add_to
    def command(**_: Any) -> None:
        shown.append(values_of_flags(click.get_current_context()))

    result = CliRunner().invoke(command, ["--secure-port", "10257", "--concurrent-job-syncs", "7"])
    assert result.exit_code == 0, result.output
    (values,) = shown
    assert values["retry"] == "1m30s"
    assert (values["secure-port"], values["bind-address"]) == (10257, "0.0.0.0")
    assert (values["concurrent-job-syncs"], values["concurrent-deployment-syncs"]) == (7, 5)
