"""The command line: the commands with their options.

What a command runs is a module of its own, which is imported only when the command is run. How a command ends is said
in :mod:`kinformer.cli.running`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from kinformer.cli.flags import NumberRange, PathType, duration, host
from kinformer.cli.manager_command import manager
from kinformer.cli.remote_flags import RemoteFlags
from kinformer.cli.running import logging_flags, run_command, with_logging
from kinformer.cli.simulate_command import simulate
from kinformer.cli.subcommands import Group, WithInstalled, WithSubcommands
from kinformer.cli.webhooks import WebhookFlags, WebhookPermissionFlags

__all__ = ("main",)

F = TypeVar("F", bound=Callable[..., Any])


@click.group(cls=WithInstalled, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kinformer", prog_name="kinformer")
def main() -> None:
    """client-go for Python's asyncio, and the controllers of kube-controller-manager on top of it."""


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 for any free port.")
@click.option("--host", type=host, default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--token", default=None, help="The bearer token of the server; generated if not given.")
@click.option(
    "--kubeconfig-out",
    type=PathType(dir_okay=False, path_type=Path),
    help="Write a kubeconfig to this file. It is written when the server answers.",
)
@click.option(
    "--data",
    type=PathType(dir_okay=False, path_type=Path),
    help="Keep all objects in this SQLite file; in memory if not given.",
)
@click.option("--tls", is_flag=True, help="Serve HTTPS, with its own CA. kubectl sends tokens only over HTTPS.")
@click.option(
    "--fake-nodes",
    type=click.IntRange(0),
    default=0,
    help="The number of fake nodes. Their pods become ready at once, or as their annotations say.",
)
@click.option(
    "--controllers/--no-controllers",
    default=True,
    help="Run the garbage collector, the namespace controller and the deletion of terminating pods here.  [on]",
)
@click.option(
    "--with-manager",
    is_flag=True,
    help="Do not run the garbage collector and the namespace controller, because a manager runs them.",
)
@click.option("--certificate", is_flag=True, help="Put a client certificate into --kubeconfig-out, too. Needs --tls.")
@click.option(
    "--system-pods", is_flag=True, help="Create the pods of a control plane in kube-system, and keep them ready."
)
@click.option(
    "--api",
    "apis",
    multiple=True,
    metavar="GROUP/VERSION",
    help="Serve this version, too, e.g. resource.k8s.io/v1beta2; kube-apiserver's --runtime-config. May be repeated.",
)
@logging_flags
def apiserver(**options: Any) -> None:
    """Serve an embedded API server until interrupted."""
    from kinformer.cli.apiserver import serve

    run_command(partial(serve, **with_logging(options)), serves=True)


main.add_command(manager)
main.add_command(simulate)


@main.group(cls=Group)
def config() -> None:
    """Show what `kinformer manager --config FILE` reads."""


@config.command()
def schema() -> None:
    """Print the JSON schema of the file, for editors and validators."""
    import json

    from kinformer.cli.config_keys import keys_of, schema_of

    with click.Context(manager) as context:
        click.echo(json.dumps(schema_of(keys_of(manager.get_params(context))), indent=2, ensure_ascii=False))


@main.command()
@click.argument("controllers", nargs=-1, metavar="[CONTROLLER]...")
@click.option(
    "--service-account",
    default="",
    metavar="NAMESPACE/NAME",
    help="Also print bindings of the roles to this service account.",
)
@click.option("--metrics-secure", is_flag=True, help="Also print the permissions for a secure endpoint.")
@click.option("--leader-elect", is_flag=True, help="Also print the permissions for leader election.")
@click.option("--leader-elect-resource-name", default="kinformer-manager", show_default=True, help="The Lease's name.")
@click.option(
    "--leader-elect-resource-namespace", default="kube-system", show_default=True, help="The Lease's namespace."
)
@click.option("--shards", is_flag=True, help="Also print the permissions for sharding.")
@click.option(
    "--shard-namespace", default="kube-system", show_default=True, help="The namespace of the shard group's Leases."
)
@WebhookPermissionFlags.add_to
def rbac(**options: Any) -> None:
    """
    Print the RBAC roles that CONTROLLER needs, or all controllers need: YAML for kubectl apply. Name those that are off
    by default, or behind a feature gate.
    """
    from kinformer.cli.rbac import run

    run_command(partial(run, webhooks=WebhookFlags.taken_from(options), **options))


@click.command()
@click.argument("source", metavar="FILE|URL|NAME")
def crd_import(**options: Any) -> None:
    """
    Print a Python module with the classes of a CustomResourceDefinition: of a YAML file, of a URL, or of the cluster
    (`certificates.cert-manager.io`).
    """
    from kinformer.cli.crd_import import run

    run_command(partial(run, **options))


# No Python package can be called "import".
@main.command(cls=WithSubcommands, subcommands={"import": crd_import})
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
def crd(**options: Any) -> None:
    """
    Print the CustomResourceDefinitions of all custom resources in PACKAGE, which may be a module or a package. For the
    other direction, `kinformer crd import FILE|URL|NAME` prints the classes of a definition.
    """
    from kinformer.cli.crd import run

    run_command(partial(run, **options))


@main.command()
@click.argument("name")
@click.option(
    "--kind", default="", help="The kind of its objects; made from NAME if not given: shop-operator has Shop."
)
@click.option("--plural", default="", help="The plural of the kind; made from the kind if not given.")
@click.option("--group", default="example.com", show_default=True, help="The API group: a domain that you own.")
@click.option(
    "--directory",
    type=PathType(file_okay=False, path_type=Path),
    default=None,
    help="Where to write the project; a new folder NAME in this folder if not given. No file is overwritten.",
)
def new(**options: Any) -> None:
    """Create a project for a new operator, with a custom resource, tests, manifests and CI. Its tests pass at once."""
    from kinformer.cli.new import run

    run_command(partial(run, **options))


@main.command()
@click.option(
    "--manifests",
    type=PathType(path_type=Path),
    help="A YAML file, or a folder with YAML files, to apply instead of the examples of the documentation.",
)
@click.option("--nodes", type=click.IntRange(1, 1000), default=3, show_default=True, help="The number of fake nodes.")
@click.option("--timeout", type=NumberRange(min=0.1), default=30.0, show_default=True, help="Seconds for each step.")
@logging_flags
def demo(**options: Any) -> None:
    """Watch a ReplicationController get its pods and a Deployment be rolled out, on an API server in this process."""
    from kinformer.cli.demo import run

    # An interrupted demonstration is not complete, so it does not exit with 0.
    run_command(partial(run, **with_logging(options, quiet=True)), interrupted=130)


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Small runs, which take a minute. Their figures are not exact.")
@click.option(
    "--json",
    "json_file",
    type=PathType(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the results to this file.",
)
@click.option(
    "--charts",
    type=PathType(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a chart of each benchmark to this folder, as SVG.",
)
@click.option("--uvloop", is_flag=True, help="Run on uvloop instead of asyncio's own loop.")
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help="How often to run each benchmark. The median of each figure and the spread are shown.  [3; 1 with --quick]",
)
@click.option(
    "--kubeconfig",
    type=PathType(path_type=Path),
    help="Instead, measure an informer of this cluster's pods, and a manager's start on it. Nothing is written there.",
)
@click.option(
    "--seconds",
    type=NumberRange(min=0.1),
    default=30.0,
    show_default=True,
    help="How long to watch the cluster of --kubeconfig.",
)
@logging_flags
def bench(**options: Any) -> None:
    """Measure the speed of informers, and their costs: run the benchmarks NAME, or all."""
    from kinformer.cli.bench import run

    # An interrupted measurement is not complete, so it does not exit with 0.
    run_command(partial(run, **with_logging(options, quiet=True)), interrupted=130)


@main.command()
@click.option(
    "--interval",
    type=duration,
    default="2s",
    show_default=True,
    metavar="DURATION",
    help="The time between two updates.",
)
@click.option("--once", is_flag=True, help="Print the current state, and end.  [on if the output is no terminal]")
@RemoteFlags.add_to
def top(**options: Any) -> None:
    """Show what a running manager does: its informers, queues and controllers, and the keys that fail."""
    from kinformer.cli.top import run

    run_command(partial(run, remote=RemoteFlags.taken_from(options), **options))


@main.group(cls=Group)
def debug() -> None:
    """Show the state of a running manager, or why a key was synced."""


def _output_flag(command: F) -> F:
    return click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)(
        command
    )


def _debug_part(part: str, help_: str) -> None:
    @debug.command(part, help=help_)
    @_output_flag
    @RemoteFlags.add_to
    def show(**options: Any) -> None:
        from kinformer.cli.debug import show_part

        run_command(partial(show_part, part, remote=RemoteFlags.taken_from(options), **options))


_debug_part("informers", "What informers hold, and whether they follow the server.")
_debug_part("queues", "How many keys wait, and for how long.")
_debug_part("controllers", "How fast keys are synced, and which keys fail or are slow.")


@debug.command("why")
@click.argument("key")
@click.option("--controller", default="", help="Show only what this controller knows about the key.")
@_output_flag
@RemoteFlags.add_to
def debug_why(key: str, **options: Any) -> None:
    """Show why KEY (NAMESPACE/NAME) was synced, with which result, and when it is tried again."""
    from kinformer.cli.debug import why

    run_command(partial(why, key, remote=RemoteFlags.taken_from(options), **options))
