"""The command line: the commands with their options.

Each command is a module of its own, which is imported only when the command is run. An error that the user can mend is
one line on standard error, and the exit status is 1. A wrong option is click's message, and the exit status is 2.
Ctrl-C and SIGTERM end a command in order, within a second.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kinformer.cli.config_file import config_flag
from kinformer.cli.election import ElectionFlags, leader_election_flags
from kinformer.cli.flags import NAMES, ControllersCommand, duration, values_of_flags
from kinformer.cli.recording import RecordingFlags, recording_flags
from kinformer.cli.remote_flags import RemoteFlags, remote_flags
from kinformer.cli.serving import ServingFlags, serving_flags
from kinformer.cli.sharding import ShardingFlags, sharding_flags
from kinformer.cli.simulation_flags import exploration_flags, schema_flags, simulation_flags
from kinformer.cli.webhooks import WebhookFlags, webhook_flags, webhook_rbac_flags

__all__ = ("logging_flags", "main", "manager", "run_command", "run_manager", "with_logging")

_COMMANDS = "kinformer.commands"


class _WithInstalled(click.Group):
    """A group that also has the commands of other packages: entry points of the group ``kinformer.commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *(entry.name for entry in entry_points(group=_COMMANDS))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found: click.Command | None = next(
            (entry.load() for entry in entry_points(group=_COMMANDS) if entry.name == cmd_name), None
        )
        return found


@click.group(cls=_WithInstalled, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kinformer", prog_name="kinformer")
def main() -> None:
    """client-go for Python's asyncio, and the controllers of kube-controller-manager on top of it."""


if TYPE_CHECKING:
    from kinformer.cli.signals import Interruption

F = TypeVar("F", bound=Callable[..., Any])


def logging_flags(command: F) -> F:
    """Add the flags that :func:`with_logging` takes to a command."""
    for flag in (
        click.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True),
        click.option("-v", "--v", "verbosity", type=int, default=0, help="Log level: 4 and above for details."),
    ):
        command = flag(command)
    return command


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True, help="0 for any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--token", default=None, help="The bearer token of the server; generated if not given.")
@click.option(
    "--kubeconfig-out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a kubeconfig to this file. It is written when the server answers.",
)
@click.option(
    "--data",
    type=click.Path(dir_okay=False, path_type=Path),
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
@click.option("--certificate", is_flag=True, help="Put a client certificate into the kubeconfig, too. It needs --tls.")
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

    run_command(partial(serve, **with_logging(options)))


@main.command(cls=ControllersCommand)
@config_flag
@click.option(
    "--dry-run",
    is_flag=True,
    help="Do not run the controllers. Print all flags and where their values come from, check that the server grants "
    "each permission that the controllers need, and exit with 1 if one is missing.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig of the cluster; $KUBECONFIG, ~/.kube/config or the pod's service account if not given.",
)
@click.option("--context", default=None, help="The context of the kubeconfig; its current one if not given.")
@click.option(
    "--contexts",
    type=NAMES,
    default="",
    metavar="NAMES",
    help="Run the controllers for the clusters of these contexts, with commas between; '*' for all of the kubeconfig. "
    " [one cluster]",
)
@click.option(
    "--controllers",
    type=NAMES,
    default="*",
    show_default=True,
    help="The controllers to run, with commas between: NAME switches one on, -NAME switches one off, '*' switches on "
    "all of other packages, and 'builtin' all of kube-controller-manager's that are implemented here. MODULE:NAME "
    "stands for one that is not installed: a Reconciler, a factory or a ControllerSpec.",
)
@click.option(
    "--require-controllers",
    type=NAMES,
    default="",
    metavar="NAMES",
    help="The controllers that must start, with commas between; '*' for all that run. If another controller cannot "
    "start, this is logged, and it starts when it can.",
)
@click.option(
    "--cache-sync-timeout",
    type=duration,
    default="2m",
    show_default=True,
    metavar="DURATION",
    help="How long a controller's caches may take to sync before this counts as an error.",
)
@click.option(
    "--shutdown-grace",
    type=duration,
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="How long running syncs may take to end after SIGTERM or SIGINT. A second signal ends the process at once.",
)
@click.option(
    "--beside-kube-controller-manager",
    is_flag=True,
    help="Run built-in controllers even if the cluster's own kube-controller-manager runs.",
)
@click.option(
    "--namespace",
    "namespaces",
    type=NAMES,
    multiple=True,
    metavar="NAMES",
    help="Watch only this namespace. May be given several times, or with commas between.  [all namespaces]",
)
@click.option(
    "--compress-caches",
    is_flag=True,
    help="Compress the parts of cached objects that no controller reads: less memory, more CPU time. Needs the extra "
    "kinformer[zstd].",
)
@click.option(
    "--option",
    "extra_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of a controller of another package. May be given several times.",
)
@click.option(
    "--kube-api-qps",
    type=float,
    default=None,
    help="Requests per second to the server; 0 or less for no limit.  [no limit]",
)
@click.option("--kube-api-burst", type=click.IntRange(1), default=30, show_default=True, help="Requests in a burst.")
@click.option(
    "--kube-api-delete-qps",
    type=click.FloatRange(0),
    default=50.0,
    show_default=True,
    help="Objects per second that all controllers together delete; 0 for no limit.",
)
@click.option(
    "--kube-api-delete-burst", type=click.IntRange(1), default=100, show_default=True, help="Deletions in a burst."
)
@click.option(
    "--server-probe-interval",
    type=duration,
    default="3s",
    show_default=True,
    metavar="DURATION",
    help="How often to check whether a server that cannot be reached is back. 0: only the controllers' own retries.",
)
@click.option(
    "--server-return-spread",
    type=duration,
    default="1s",
    show_default=True,
    metavar="DURATION",
    help="The time over which informers spread their lists when the server is back.",
)
@serving_flags
@leader_election_flags
@sharding_flags
@webhook_flags
@recording_flags
@logging_flags
def manager(**_: Any) -> None:
    """Run controllers against a cluster until interrupted."""
    run_manager(click.get_current_context())


def run_manager(
    context: click.Context,
    accounts: Mapping[str, str] | None = None,
    report: Callable[[], None] | None = None,
    shown: Mapping[str, Any] | None = None,
) -> None:
    """
    Run controllers as the flags of ``kinformer manager`` say, and exit.

    :param context: the command with its flags
    :param accounts: service accounts in kube-system for single controllers, by the controllers' names
    :param report: called when the log is set up
    :param shown: the flags that ``/flagz`` shows; those of the context if None
    """
    from kinformer.cli.manager import run
    from kinformer.cli.signals import Interruption

    options = dict(context.params)
    flags: dict[str, Any] = {
        "election": ElectionFlags.taken_from(options),
        "sharding": ShardingFlags.taken_from(options),
        "serving": ServingFlags.taken_from(options),
        "webhooks": WebhookFlags.taken_from(options),
        "recording": RecordingFlags.taken_from(options),
        "accounts": accounts,
    }
    if options.pop("dry_run"):
        from kinformer.cli.dry_run import effective_configuration

        flags["dry_run"] = list(effective_configuration(context))
    shown = values_of_flags(context) if shown is None else shown
    interruption = Interruption()
    command = partial(run, interruption=interruption, shown_flags=shown, **flags, **with_logging(options))
    if report is not None:
        report()
    run_command(command, interruption=interruption)


@main.group()
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
@webhook_rbac_flags
def rbac(**options: Any) -> None:
    """
    Print the RBAC roles that CONTROLLER needs, or all controllers need: YAML for kubectl apply. Name those that are off
    by default, or behind a feature gate.
    """
    from kinformer.cli.rbac import run

    run_command(partial(run, webhooks=WebhookFlags.taken_from(options), **options))


class _WithSubcommands(click.Command):
    """
    A command whose first argument may also name another command.

    :param subcommands: these commands, by name
    """

    def __init__(self, *args: Any, subcommands: Mapping[str, click.Command], **options: Any) -> None:
        super().__init__(*args, **options)
        self._subcommands = subcommands

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and (found := self._subcommands.get(args[0])) is not None:
            return found.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


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
@main.command(cls=_WithSubcommands, subcommands={"import": crd_import})
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
    type=click.Path(file_okay=False, path_type=Path),
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
    type=click.Path(path_type=Path),
    help="A YAML file, or a folder with YAML files, to apply instead of the examples of the documentation.",
)
@click.option("--nodes", type=click.IntRange(1, 1000), default=3, show_default=True, help="The number of fake nodes.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds for each step."
)
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
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the results to this file.",
)
@click.option(
    "--charts",
    type=click.Path(file_okay=False, path_type=Path),
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
    type=click.Path(path_type=Path),
    help="Instead, measure an informer of this cluster's pods, and a manager's start on it. Nothing is written there.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
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


def _simulate(run: Callable[..., int], options: dict[str, Any]) -> None:
    """Run a command that simulates. It is a plain function, because each of its runs has an event loop of its own."""
    try:
        _exit_with(partial(run, **with_logging(options, quiet=True)))
    except KeyboardInterrupt:
        sys.exit(130)


@click.command("kopf")
@click.argument("module", metavar="MODULE")
@exploration_flags
@simulation_flags
@logging_flags
def simulate_kopf(**options: Any) -> None:
    """
    Look for bugs of an operator that is written with kopf, in simulated runs with faults, in virtual time.

    MODULE is a Python file, or a module's name.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate import run_kopf

    _simulate(run_kopf, options)


@click.command("external")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="The number of random runs.")
@click.option(
    "--one-by-one",
    is_flag=True,
    help="Instead of random runs, make one run for each single crash, and for each absence while the user writes.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="With --one-by-one: another kind of fault, such as hide or restart. May be given several times.",
)
@click.option(
    "--quiet",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds without a change after which everything has settled. It has to be longer than the command waits "
    "between two tries.",
)
@click.option(
    "--hurry",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="By how much the times of faults are divided.",
)
@click.option(
    "--upgrade-to",
    default="",
    metavar="COMMAND",
    help="The command of the next version, which the fault upgrade starts.",
)
@simulation_flags
@logging_flags
def simulate_external(**options: Any) -> None:
    """
    Look for bugs of an operator in any language, which COMMAND runs, in real time.

    COMMAND finds the embedded server by KUBECONFIG. It is killed and started again, and requests and events go wrong.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate import run_command

    _simulate(run_command, options)


@click.command("schema")
@click.argument("controllers", nargs=-1, required=True, metavar="CONTROLLER...")
@schema_flags
@logging_flags
def simulate_schema(**options: Any) -> None:
    """
    Change each field of an object to other valid values and back, and look for bugs of CONTROLLER in virtual time.

    CONTROLLER is an installed one's name or MODULE:FACTORY. The values are made from the schema of the object's kind.

    Exits with 3 if it finds one.
    """
    from kinformer.cli.simulate_schema import run

    _simulate(run, options)


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("controllers", nargs=-1, metavar="[CONTROLLER]...")
@click.option("--key", default="*", metavar="KEY", help="Only syncs of this key; it may have wildcards.  [all]")
@click.option(
    "--test",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a test that fails as long as the controllers do again what was wrong, and a copy of the recording "
    "beside it.",
)
@click.option(
    "--sync",
    "syncs",
    type=int,
    multiple=True,
    metavar="N",
    help="With --test: only what was wrong in this recorded sync. May be given several times.",
)
@click.option(
    "--wrong",
    default="",
    metavar="REQUEST",
    help="With --test: the request that was wrong, with wildcards, such as 'DELETE */pods/*'.  [what failed]",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@logging_flags
def simulate_replay(**options: Any) -> None:
    """
    Replay FILE, which `kinformer manager --record FILE` has written, in virtual time, and show where syncs differ.

    CONTROLLER is an installed one's name or MODULE:FACTORY; those that were recorded if none is named.

    Exits with 3 if something differs.
    """
    from kinformer.cli.simulate_replay import run

    _simulate(run, options)


@main.command(
    cls=_WithSubcommands,
    subcommands={
        "kopf": simulate_kopf,
        "external": simulate_external,
        "schema": simulate_schema,
        "replay": simulate_replay,
    },
)
@click.argument("controllers", nargs=-1, required=True, metavar="CONTROLLER...")
@exploration_flags
@simulation_flags
@logging_flags
def simulate(**options: Any) -> None:
    """
    Look for bugs of CONTROLLER, an installed one's name or MODULE:FACTORY, in simulated runs with faults.

    Exits with 3 if it finds one.

    "simulate kopf MODULE" does the same with an operator that is written with kopf, and "simulate external -- COMMAND"
    with an operator in any language, in real time. "simulate schema CONTROLLER" changes each field of an object.
    "simulate replay FILE" replays what a manager has recorded.
    """
    from kinformer.cli.simulate import run

    _simulate(run, options)


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
@remote_flags
def top(**options: Any) -> None:
    """Show what a running manager does: its informers, queues and controllers, and the keys that fail."""
    from kinformer.cli.top import run

    run_command(partial(run, remote=RemoteFlags.taken_from(options), **options))


@main.group()
def debug() -> None:
    """Show the state of a running manager, or why a key was synced."""


def _output_flag(command: F) -> F:
    return click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)(
        command
    )


def _debug_part(part: str, help_: str) -> None:
    @debug.command(part, help=help_)
    @_output_flag
    @remote_flags
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
@remote_flags
def debug_why(key: str, **options: Any) -> None:
    """Show why KEY (NAMESPACE/NAME) was synced, with which result, and when it is tried again."""
    from kinformer.cli.debug import why

    run_command(partial(why, key, remote=RemoteFlags.taken_from(options), **options))


def with_logging(options: dict[str, Any], *, quiet: bool = False) -> dict[str, Any]:
    """Set up logging as the options say, and return the other options of the command."""
    from kinformer.logs import configure_logging, leave_rich_out

    leave_rich_out()
    configure_logging(options.pop("verbosity"), options.pop("logging_format"), quiet=quiet)
    return options


def run_command(
    command: Callable[[], Awaitable[int]], *, interrupted: int = 0, interruption: Interruption | None = None
) -> None:
    """
    Run a command, and exit with its status.

    :param interrupted: the exit status if a signal has ended the command
    :param interruption: what a signal does instead of cancelling the command
    """
    from kinformer.cli.signals import run_until_signal

    _exit_with(lambda: run_until_signal(command, interrupted, interruption))


def _exit_with(work: Callable[[], int]) -> None:
    """Call a function, and exit with its status. An error that the user can mend is printed in one line."""
    try:
        status = work()
    except Exception as error:
        from kinformer.cli.errors import plain_error

        message = plain_error(error)
        if message is None:
            raise
        click.echo(f"kinformer: {message}", err=True)
        status = 1
    # Python's last collections leave frozen objects alone. They would go through all objects of the caches before the
    # process ends: 0.5 s of CPU for 100,000 pods, and 0.08 s for the modules alone.
    gc.freeze()
    sys.exit(status)
