"""The flags of the webhooks that ``kinformer manager`` serves for its controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinformer.cli.groups import FlagGroup, flag, path_flag, switch

if TYPE_CHECKING:
    from kinformer.client import Client
    from kinformer.manager import ControllerContext
    from kinformer.manager.webhooks import ServedWebhooks
    from kinformer.operator.webhooks import WebhookServing

__all__ = ("WebhookFlags", "WebhookPermissionFlags", "namespaced_name")


@dataclass(frozen=True, slots=True)
class WebhookPermissionFlags(FlagGroup):
    """The flags that say which permissions webhooks need."""

    webhook_service: str = flag(
        "",
        "The Service by which API servers reach the webhooks that the controllers declare.",
        metavar="NAMESPACE/NAME[:PORT]",
    )
    webhook_secret: str = flag(
        "",
        "The Secret for their certificate and its authority, which the manager makes and renews.  [the name of the "
        "Service, with -certificate after it]",
        metavar="NAMESPACE/NAME",
    )
    webhook_cert_dir: Path | None = path_flag(
        "A folder with their certificate: tls.crt and tls.key, which are read again when they change, and perhaps "
        "ca.crt, the authorities for API servers to trust. The manager then makes no certificate."
    )
    webhook_register: bool = switch(
        "The leader registers the webhooks: configurations, authorities, conversions.  [on]", default=True
    )


@dataclass(frozen=True, slots=True)
class WebhookFlags(WebhookPermissionFlags):
    """All flags."""

    webhook_port: int = flag(
        9443,
        "The port for the webhooks that the controllers declare. 0: they are not served.",
        type=click.IntRange(0, 65535),
    )
    webhook_bind_address: str = flag("0.0.0.0", "The address for --webhook-port.")
    webhook_url: str = flag(
        "",
        "The address by which API servers reach them, instead of a Service: https://HOST:PORT.  [with a loopback "
        "address: that and the port]",
        metavar="URL",
    )
    webhook_inject_ca_from: str = flag(
        "",
        "cert-manager's Certificate of --webhook-cert-dir. cert-manager then tells API servers its authority.",
        metavar="NAMESPACE/NAME",
    )

    def serve(self, declared: Sequence[Any], context: ControllerContext, client: Client) -> ServedWebhooks:
        """
        Serve the webhooks of a manager's controllers. The flags are checked only if the controllers have webhooks.

        :raises OptionError: if a flag is not valid, or flags do not go together
        """
        return self.serving().serve(declared, context, client)

    def serving(self) -> WebhookServing:
        """
        How the webhooks are served.

        :raises OptionError: if a flag is not valid, or flags do not go together
        """
        from kinformer.operator.webhooks import WebhookServing
        from kinformer.options import OptionError

        if self.webhook_inject_ca_from and self.webhook_cert_dir is None:
            raise OptionError(
                "--webhook-inject-ca-from goes with --webhook-cert-dir: want the files of that Certificate"
            )
        where, colon, port = self.webhook_service.partition(":")
        if colon and not (port.isdecimal() and 0 < int(port) < 65536):
            raise OptionError(
                f"--webhook-service is {self.webhook_service!r}: want NAMESPACE/NAME or NAMESPACE/NAME:PORT"
            )
        return WebhookServing(
            host=self.webhook_bind_address.strip("[]"),
            port=self.webhook_port,
            service=namespaced_name("--webhook-service", where),
            service_port=int(port) if colon else 443,
            url=self.webhook_url,
            secret=namespaced_name("--webhook-secret", self.webhook_secret),
            cert_dir=self.webhook_cert_dir,
            inject_ca_from="/".join(namespaced_name("--webhook-inject-ca-from", self.webhook_inject_ca_from) or ()),
            registers=self.webhook_register,
        )


def namespaced_name(flag: str, text: str) -> tuple[str, str] | None:
    """
    The namespace and the name in the value of a flag; None if it is empty.

    :raises OptionError: if it is not of the form ``NAMESPACE/NAME``, or no server has such names
    """
    from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors
    from kinformer.options import OptionError

    if not text:
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise OptionError(f"{flag} is {text!r}: want NAMESPACE/NAME")
    if problems := [*dns1123_label_errors(namespace), *dns1123_subdomain_errors(name)]:
        raise OptionError(f"{flag} is {text!r}: {problems[0]}")
    return namespace, name
