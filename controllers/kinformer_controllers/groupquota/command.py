"""``kinformer quota-webhook``: an HTTPS server that enforces GroupQuotas until somebody interrupts it."""

from __future__ import annotations

import gc
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from kinformer.cli.election import ElectionFlags, leader_election_of
from kinformer.cli.flags import PathType, duration, host
from kinformer.cli.running import logging_flags, run_command, version_of, with_logging

__all__ = ("quota_webhook",)


@click.command(
    "quota-webhook", context_settings={"default_map": {"leader_elect_resource_name": "kinformer-quota-webhook"}}
)
@click.option(
    "--kubeconfig",
    type=PathType(path_type=Path),
    help="How to reach the cluster; $KUBECONFIG, ~/.kube/config or the pod's own account if not given.",
)
@click.option("--context", default=None, help="Which of the kubeconfig's contexts; its current one if not given.")
@click.option(
    "--host",
    type=host,
    default=None,
    help="Address to listen on.  [0.0.0.0 with --client-ca-file, else 127.0.0.1: whoever may ask can use a quota up]",
)
@click.option("--port", type=click.IntRange(0, 65535), default=9443, show_default=True, help="0 for any free port.")
@click.option("--tls-cert-file", type=PathType(path_type=Path), help="The server's certificate, as PEM.")
@click.option("--tls-private-key-file", type=PathType(path_type=Path), help="Its key, as PEM.")
@click.option(
    "--client-ca-file",
    type=PathType(path_type=Path),
    help="Only clients may ask that have a certificate of one of these authorities (PEM).",
)
@click.option(
    "--client-names",
    default="kube-apiserver",
    show_default=True,
    help="Common names or DNS names, of which the client's certificate must have one; several with commas.",
)
@click.option("--insecure", is_flag=True, help="Serve plain HTTP: for tests, and behind a proxy with a certificate.")
@click.option(
    "--resource-quota-sync-period",
    "period",
    type=duration,
    default="5m0s",
    show_default=True,
    help="How often every GroupQuota is recounted.",
)
@click.option(
    "--reservation",
    type=duration,
    default="1m30s",
    show_default=True,
    help="How long a charge stays reserved while nobody has seen its object.",
)
@ElectionFlags.add_to
@logging_flags
def quota_webhook(**options: Any) -> None:
    """
    Enforce GroupQuotas: answer AdmissionReviews until interrupted.

    Several replicas need --leader-elect: all of them answer, and the one that holds the Lease recounts.
    """
    run_command(partial(_run, election=ElectionFlags.taken_from(options), **with_logging(options)), serves=True)


async def _run(
    *,
    kubeconfig: Path | None,
    context: str | None,
    host: str | None,
    port: int,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    client_ca_file: Path | None,
    client_names: str,
    insecure: bool,
    period: float,
    reservation: float,
    election: ElectionFlags,
) -> int:
    from kinformer.client import connect
    from kinformer.manager import OptionError
    from kinformer.manager.serving.tls import ServerTls
    from kinformer.operator.webhooks import CertificateFiles
    from kinformer.tasks import plain_task_group
    from kinformer_controllers.groupquota.server import LOOPBACK, WebhookServer
    from kinformer_controllers.groupquota.webhook import QuotaWebhook

    if not insecure and (tls_cert_file is None or tls_private_key_file is None):
        raise OptionError("say --tls-cert-file and --tls-private-key-file: API servers ask webhooks over HTTPS only")
    if insecure and client_ca_file is not None:
        raise OptionError("--client-ca-file asks for certificates, which --insecure has no place for: say one of them")
    settings = leader_election_of(election)
    names = frozenset(name.strip() for name in client_names.split(",") if name.strip())
    if not names:
        raise OptionError("--client-names: want at least one name")
    certificate = None
    if tls_cert_file is not None and tls_private_key_file is not None and not insecure:
        certificate = CertificateFiles(tls_cert_file, tls_private_key_file, tls=ServerTls(client_ca_file))
        await certificate.context()  # so that an error in the files comes first
    if host is None:
        host = LOOPBACK if client_ca_file is None else "0.0.0.0"
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(kubeconfig, context))
        if settings is not None:
            # The Lease has a client of its own, so that its renewals do not wait for charges.
            settings = replace(settings, client=await stack.enter_async_context(connect(kubeconfig, context)))
        version = await version_of(client)
        webhook = QuotaWebhook(client, reservation=reservation, period=period, election=settings)
        server = WebhookServer(webhook, certificate, host, port, clients=names if client_ca_file else None)
        async with plain_task_group() as tasks:
            tasks.start_soon(server.run)
            tasks.start_soon(webhook.run)
            await server.listening.wait()
            # These objects stay, so the collector ignores them. Checking them again delayed answers by 200 ms.
            gc.collect()
            gc.freeze()
            scheme = "http" if certificate is None else "https"
            click.echo(f"serving {scheme}://{host}:{server.port}/validate for {client.server} ({version})")
    return 0
