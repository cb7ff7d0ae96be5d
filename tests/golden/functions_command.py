"""``python -m tests.golden functions FILE…``: cases of pure functions, a file a family."""

from __future__ import annotations

from pathlib import Path

import click

from tests.golden.run import CasesError, NoAdapterError, adapter_for, family_of, read_cases, run_cases

__all__ = ("functions",)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--show", default=3, show_default=True, help="How many differences to show for a file.")
@click.option("--case", "only", type=int, help="Run this case alone, by its number.")
@click.pass_context
def functions(context: click.Context, files: tuple[Path, ...], show: int, only: int | None) -> None:
    """Run the cases of FILE..., NDJSON with one case a line, plain or .gz; a file is named after its family."""
    passed = failed = unreadable = 0
    for file in files:
        try:
            cases = read_cases(file)
        except CasesError as error:
            click.echo(str(error), err=True)
            unreadable += 1
            continue
        family = family_of(file)
        try:
            adapter = adapter_for(family)
        except NoAdapterError as error:
            click.echo(str(error))
            click.echo(f"{family}: 0 passed, {len(cases)} failed")
            failed += len(cases)
            continue
        outcome = run_cases(adapter, cases if only is None else cases[only - 1 : only], first=only or 1)
        for failure in outcome.failures[:show]:
            click.echo(failure.report(family))
        click.echo(f"{family}: {outcome.passed} passed, {len(outcome.failures)} failed")
        passed += outcome.passed
        failed += len(outcome.failures)
    click.echo(f"{passed} passed, {failed} failed")
    context.exit(1 if failed or unreadable else 0)
