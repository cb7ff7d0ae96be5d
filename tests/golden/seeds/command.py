"""``python -m tests.golden seeds``: play random scenarios against a server, and compare two runs."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import aiohttp
import anyio
import click

from tests.golden.api import Api
from tests.golden.pace import RealPace
from tests.golden.seeds import compare
from tests.golden.seeds.generate import FAMILIES, plan_of
from tests.golden.seeds.play import Played, namespace_of, play
from tests.golden.seeds.watching import watching

__all__ = ("seeds",)


@click.group()
def seeds() -> None:
    """Random scenarios: each seed is one."""


_FAMILY = click.option("--family", type=click.Choice(sorted(FAMILIES)), default="workloads", show_default=True)


@seeds.command("play")
@click.argument("numbers", metavar="FIRST-LAST|N,N,...")
@_FAMILY
@click.option("--server", "url", required=True, help="URL of the server. Its controllers run already.")
@click.option("--token", default="", help="Bearer token for that server.")
@click.option("--ca", "ca_file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Where outcomes are saved.")
@click.option("--at-once", default=20, show_default=True, help="Seeds under way at the same time.")
@click.option("--patience", default=1.0, show_default=True, help="Multiplies the time a state has to stand still.")
@click.option("--keep", is_flag=True, help="Leave everything in place, for another manager to take over.")
def play_command(
    numbers: str,
    family: str,
    url: str,
    token: str,
    ca_file: Path | None,
    out: Path,
    at_once: int,
    patience: float,
    keep: bool,
) -> None:
    """Play seeds, each in a namespace of its own, and save what came of them."""
    played = anyio.run(_play_all, _numbers(numbers), family, url, token, ca_file, at_once, patience, keep)
    compare.write(out, played)
    failed = [each.seed for each in played if any("failed" in state for _, state in each.states)]
    click.echo(f"{len(played)} played, {len(failed)} could not be finished: {failed}")


async def _play_all(
    numbers: list[int],
    family: str,
    url: str,
    token: str,
    ca_file: Path | None,
    at_once: int,
    patience: float,
    keep: bool,
) -> list[Played]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    trust: ssl.SSLContext | bool = ssl.create_default_context(cafile=ca_file) if ca_file is not None else False
    connector = aiohttp.TCPConnector(ssl=trust, limit=0)
    limiter = anyio.CapacityLimiter(at_once)
    played: list[Played] = []
    async with (
        aiohttp.ClientSession(url, headers=headers, connector=connector, read_bufsize=8 << 20) as session,
        watching(session) as changes,
        anyio.create_task_group() as tasks,
    ):

        async def one(seed: int) -> None:
            async with limiter:
                api = Api(session, namespace_of(seed))
                pace = RealPace(patience, timeout=180.0)
                played.append(await play(plan_of(seed, family), api, pace, changes=changes, keep=keep))
                click.echo(f"seed {seed}: {played[-1].seconds:.0f} s, {len(played)} of {len(numbers)}")

        for seed in numbers:
            tasks.start_soon(one, seed)
            # Not all at the same moment: making a namespace is the busiest part.
            await asyncio.sleep(0.05)
    return played


@seeds.command("compare")
@click.argument("got", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("want", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--again",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Another run of WANT's. Seeds in which it differs from WANT are left out: they are not the same twice.",
)
@click.pass_context
def compare_command(context: click.Context, got: Path, want: Path, again: tuple[Path, ...]) -> None:
    """Say in which seeds the run GOT differs from the run WANT, and how."""
    here, there = compare.read(got), compare.read(want)
    others = [compare.read(file) for file in again]
    unstable = {
        seed
        for other in others
        for seed in there.keys() & other.keys()
        if compare.first_difference(other[seed], there[seed])
    }
    shared = sorted(here.keys() & there.keys())
    differing = 0
    for seed in shared:
        if seed not in unstable and (problem := compare.first_difference(here[seed], there[seed])):
            differing += 1
            click.echo(f"{problem}\n")
    same = len(shared) - differing - len(unstable & set(shared))
    click.echo(f"{same} the same, {differing} differ, {len(unstable)} left out: {sorted(unstable)}")
    context.exit(1 if differing else 0)


@seeds.command("show")
@click.argument("number", type=int)
@_FAMILY
def show_command(number: int, family: str) -> None:
    """Print what a seed does."""
    plan = plan_of(number, family)
    click.echo(f"seed {number}: {plan.title}; looks at {', '.join(plan.looks)}")
    for name, steps in plan.operations:
        click.echo(f"- {name}")
        for step in steps:
            click.echo(f"    {step}")


def _numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
