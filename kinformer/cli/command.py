"""The command line: what can be typed, and what a person reads when it goes wrong.

Each subcommand is a module of its own and is imported only when it is run. What a user can have got wrong is one line
on standard error that names the thing, and exit status 1; a wrong option is click's one line and status 2. Ctrl-C and
SIGTERM end a command cleanly, within a second.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from kinformer.cli.flags import controller_flags

__all__ = ("main",)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("kinformer"), prog_name="kinformer")
def main() -> None:
    """client-go for Python's asyncio, and the controllers of kube-controller-manager on top of it."""


_verbosity = click.option("-v", "--v", "verbosity", type=int, default=0, help="Log level: 4 and above for details.")
_logging_format = click.option(
    "--logging-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the log.",
)


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 for any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--token", default=None, help="The bearer token to let in; made up if not given.")
@click.option(
    "--kubeconfig-out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a kubeconfig here; it is complete once the server answers.",
)
@click.option("--fake-nodes", type=click.IntRange(0), default=0, help="Nodes on which every pod comes up.")
@_verbosity
@_logging_format
def apiserver(**options: Any) -> None:
    """Serve an embedded API server until interrupted."""
    from kinformer.cli.apiserver import serve

    _run(partial(serve, **_with_logging(options)))


@main.command()
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="How to reach the cluster; $KUBECONFIG, ~/.kube/config or the pod's own account if not given.",
)
@click.option("--context", default=None, help="Which of the kubeconfig's contexts; its current one if not given.")
@click.option(
    "--controllers",
    default="*",
    show_default=True,
    help="Which to run: '*' for all that are installed, NAME for one more, -NAME for one less; several with commas.",
)
@click.option("--namespace", default="", help="Only the objects of this namespace.")
@controller_flags
@click.option(
    "--option",
    "extra_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="For controllers of other packages: an option of theirs; may be given several times.",
)
@click.option("--kube-api-qps", type=float, default=None, help="Requests a second to the server.  [no limit]")
@click.option("--kube-api-burst", type=click.IntRange(1), default=30, show_default=True, help="Requests in a burst.")
@click.option(
    "--metrics-bind-address", default="", metavar="HOST:PORT", help="Serve /metrics, /healthz and /readyz here."
)
@_verbosity
@_logging_format
def manager(**options: Any) -> None:
    """Run controllers against a cluster until interrupted."""
    from kinformer.cli.manager import run

    _run(partial(run, **_with_logging(options)))


@main.command()
@click.option(
    "--manifests",
    type=click.Path(path_type=Path),
    help="A YAML file, or a folder of them, to apply instead of the examples of the documentation.",
)
@click.option("--nodes", type=click.IntRange(1, 1000), default=3, show_default=True, help="How many fake nodes.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds per step.")
@_verbosity
@_logging_format
def demo(**options: Any) -> None:
    """Watch a ReplicationController get its pods, on an API server in this process."""
    from kinformer.cli.demo import run

    # Interrupted, it has not shown what it was to show.
    _run(partial(run, **_with_logging(options, quiet=True)), interrupted=130)


def _with_logging(options: dict[str, Any], *, quiet: bool = False) -> dict[str, Any]:
    from kinformer.cli.logging import configure_logging

    configure_logging(options.pop("verbosity"), options.pop("logging_format"), quiet=quiet)
    return options


def _run(command: Callable[[], Awaitable[int]], *, interrupted: int = 0) -> None:
    """Run a command to its end, or until a signal ends it, and exit with its status, or with `interrupted`."""
    from kinformer.cli.errors import plain_error
    from kinformer.cli.signals import run_until_signal

    try:
        status = run_until_signal(command, interrupted)
    except Exception as error:
        message = plain_error(error)
        if message is None:
            raise
        click.echo(f"kinformer: {message}", err=True)
        status = 1
    sys.exit(status)
