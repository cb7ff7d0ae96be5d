"""``python -m tests.golden scenario FILE…``: scenarios, all at once, against the embedded server or a given one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import click

from kinformer.clock import Clock
from tests.golden.controllers import apis_for, controllers_for, missing_for
from tests.golden.keys import key_flags
from tests.golden.pace import RealPace
from tests.golden.scenario import Outcome, Scenario, ScenarioError, replay

__all__ = ("scenario", "serving")

#: Scenarios under way at once: they mostly wait, but two hundred pods of one are work for all.
_AT_ONCE = 6


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--server", "url", help="URL of a server to use instead of the embedded one.")
@click.option("--token", default="", help="Bearer token for that server.")
@click.option(
    "--ca",
    "ca_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The authority that server's certificate is from. Without it any certificate will do.",
)
@click.option("--no-controllers", is_flag=True, help="Run no controllers: the server has its own.")
@click.option("--patience", default=1.0, show_default=True, help="Multiplies the time a state has to stand still.")
@click.pass_context
def scenario(
    context: click.Context,
    files: tuple[Path, ...],
    url: str | None,
    token: str,
    ca_file: Path | None,
    no_controllers: bool,
    patience: float,
) -> None:
    """Replay the scenarios of FILE... and compare the states that settle with what Kubernetes' controllers made."""
    try:
        scenarios = [Scenario.read(file) for file in files]
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error
    failed = 0

    async def run_all() -> None:
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def run_one(each: Scenario, base: str, secret: str) -> None:
            nonlocal failed
            async with limiter:
                outcome = await replay(each, base, secret, ca_file=ca_file, pace=RealPace(patience))
            _report(outcome)
            failed += bool(outcome.problem)

        # Those that were recorded with the same controllers share a server.
        groups: dict[tuple[str, ...], list[Scenario]] = {}
        for each in scenarios:
            names = () if no_controllers else _controllers_of(each)
            groups.setdefault(names, []).append(each)
        # Load balancers first: their scenarios are about a cluster without nodes, and others make nodes that stay.
        for names, group in sorted(groups.items(), key=lambda each: "service" not in each[0]):
            async with (
                serving(url, token, ca_file=ca_file, controllers=names) as (base, secret),
                anyio.create_task_group() as tasks,
            ):
                for each in group:
                    tasks.start_soon(run_one, each, base, secret)

    anyio.run(run_all)
    click.echo(f"{len(scenarios) - failed} passed, {failed} failed")
    context.exit(1 if failed else 0)


@asynccontextmanager
async def serving(
    url: str | None = None,
    token: str = "",
    *,
    ca_file: Path | None = None,
    controllers: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[tuple[str, str]]:
    """
    URL and token of a server, the embedded one if none is given, with controllers of this project at work.

    :param ca_file: the authority that a given server's certificate is from; None: any certificate will do
    :param controllers: the names of those that run
    :param flags: what they are told, beside :func:`key_flags`
    :param clock: the time of the embedded server and of the controllers
    """
    from kinformer.client import connect
    from kinformer.envtest import ApiServer
    from kinformer.manager import Manager

    async with AsyncExitStack() as stack:
        if url is None:
            server = await stack.enter_async_context(
                ApiServer(clock=clock, controllers=False, apis=apis_for(controllers))
            )
            url, token = server.url, server.token
        if controllers:
            client = await stack.enter_async_context(
                connect(url=url, token=token, ca_file=ca_file, verify=ca_file is not None, clock=clock)
            )
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            manager = Manager(
                client,
                controllers=controllers,
                flags={**key_flags(), **(flags or {})},
                clock=clock,
                beside_kube_controller_manager=True,
            )
            tasks.start_soon(manager.run)
        yield url, token


def _controllers_of(scenario: Scenario) -> tuple[str, ...]:
    from kinformer.manager import known_controllers

    known = known_controllers()
    try:
        missing = missing_for(scenario.name, known)
    except KeyError:
        raise click.ClickException(f"{scenario.name}: nobody knows which controllers it was recorded with") from None
    if missing:
        raise click.ClickException(f"{scenario.name}: not installed: {', '.join(missing)}")
    return tuple(controllers_for(scenario.name, known) or ())


def _report(outcome: Outcome) -> None:
    verdict = "failed" if outcome.problem else "passed"
    click.echo(f"{outcome.scenario.name}: {verdict} in {outcome.seconds:.1f} s")
    if outcome.problem:
        click.echo(outcome.problem)
