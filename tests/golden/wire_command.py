"""``python -m tests.golden wire FILE…``: requests and answers of a real kube-apiserver, a file a script."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import anyio
import click

from tests.golden.run import CasesError
from tests.golden.wire import WireOutcome, excuses, read_script, run_script

__all__ = ("wire",)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--server", "url", help="Ask the server at this URL, and not a fresh embedded one for each file.")
@click.option("--token", default="", help="The bearer token for that server.")
@click.option("--strict", is_flag=True, help="Compare every text word for word.")
@click.option("--show", default=3, show_default=True, help="How many differences to show for a file.")
@click.pass_context
def wire(context: click.Context, files: tuple[Path, ...], url: str | None, token: str, strict: bool, show: int) -> None:
    """Replay the steps of FILE... and compare the answers."""
    passed = failed = excused = unreadable = 0
    known = excuses()
    for file in files:
        try:
            script = read_script(file)
        except CasesError as error:
            click.echo(str(error), err=True)
            unreadable += 1
            continue

        async def replay() -> WireOutcome:
            return await run_script(script, url=url, token=token, strict=strict, known=known)  # noqa: B023 - run at once

        try:
            outcome = anyio.run(replay)
        except aiohttp.ClientConnectionError as error:
            raise click.ClickException(f"{url}: {error}") from error
        for failure in outcome.failures[:show]:
            click.echo(failure.report())
        for failure in outcome.excused:
            click.echo(f"{script.name} step {failure.number} differs: {known[script.name, failure.number]}")
        for number in outcome.unlisted:
            click.echo(f"{script.name} step {number} passes, and docs/envtest.md lists it as different")
        click.echo(f"{script.name}: {_counts(outcome.passed, len(outcome.failures), len(outcome.excused))}")
        passed += outcome.passed
        failed += len(outcome.failures)
        excused += len(outcome.excused)
    click.echo(_counts(passed, failed, excused))
    context.exit(1 if failed or unreadable else 0)


def _counts(passed: int, failed: int, excused: int) -> str:
    return f"{passed} passed, {failed} failed" + (f", {excused} known to differ" if excused else "")
