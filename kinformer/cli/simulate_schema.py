"""``kinformer simulate schema``: change each field of an object, and report what the controllers did wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kinformer.cli.manifests import read_manifests
from kinformer.cli.modules import search_here
from kinformer.cli.simulate import FOUND, SimulateError, check_controllers, checks_of
from kinformer.cli.simulation_flags import CheckFlags, SchemaFlags
from kinformer.simulation import WorldOptions
from kinformer.simulation.schema import PATIENCE, Change, FieldReport, Finding, Subject, try_change, try_fields

__all__ = ("run",)


def run(*, controllers: Sequence[str], flags: SchemaFlags, checked: CheckFlags) -> int:
    """
    Change the fields, and print the report.

    :return: the exit status: 0, or :data:`FOUND`
    :raises SimulateError: if a controller cannot be used, or an option or a manifest is wrong
    :raises ScenarioError: if the objects cannot be applied
    :raises ManifestError: if a file cannot be read, or has something else than objects
    """
    checks = checks_of(checked)
    search_here()
    check_controllers(controllers)
    options = WorldOptions(nodes=checked.nodes, patience=PATIENCE)
    timeline = ""
    try:
        one = Change.parse(flags.change) if flags.change is not None else None
        objects = [manifest.obj for file in flags.manifests for manifest in read_manifests(file)]
        subject = Subject(
            lambda world: world.manager(controllers),
            objects,
            flags.fields,
            flags.without_effect,
            flags.one_way,
            [Change.parse(step) for step in flags.steps],
            checks,
            options,
        )
        if one is not None:
            report, timeline = try_change(subject, one)
        else:
            report = try_fields(subject)
    except ValueError as error:
        raise SimulateError(" ".join(str(error).split())) from error
    words = ["kinformer", "simulate", "schema", *controllers]
    for flag, values in (
        ("--manifest", flags.manifests),
        ("--without-effect", flags.without_effect),
        ("--one-way", flags.one_way),
    ):
        words += [word for value in values for word in (flag, str(value))]
    words += checked.words
    if flags.output == "json":
        print(json.dumps(_as_json(report, words), indent=2, ensure_ascii=False))
    else:
        _show(report, words, timeline)
    return 0 if report.is_clean else FOUND


def _command(finding: Finding, words: Sequence[str]) -> str:
    return shlex.join([*words, *(["--change", str(finding.change)] if finding.change is not None else [])])


def _show(report: FieldReport, words: Sequence[str], timeline: str) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    if timeline:
        console.print(escape(timeline), soft_wrap=True)
    if report.findings:
        table = Table(box=box.SIMPLE_HEAD)
        for name in ("field", "rule", "what was found"):
            table.add_column(name, overflow="fold")
        for finding in report.findings:
            table.add_row(escape(finding.field or "(as it is)"), finding.rule, escape(finding.text))
        console.print(table)
    values = sum(map(len, report.tried.values()))
    console.print(f"{values} values of {len(report.tried)} fields in {report.runs} runs.", soft_wrap=True)
    refused = {field: text for field, text in report.left_out.items() if text}
    if refused:
        console.print(f"Left out, because no other value was accepted: {escape(', '.join(refused))}.", soft_wrap=True)
    if report.is_clean:
        console.print("Nothing was found.")
    elif not timeline:
        console.print("\nPlay a change again:\n", soft_wrap=True)
        for command in dict.fromkeys(_command(finding, words) for finding in report.findings):
            console.print(f"    {escape(command)}", soft_wrap=True)


def _as_json(report: FieldReport, words: Sequence[str]) -> object:
    return {
        "runs": report.runs,
        "tried": {field: [str(change) for change in changes] for field, changes in report.tried.items()},
        "leftOut": report.left_out,
        "findings": [
            {
                "field": finding.field,
                "rule": finding.rule,
                "change": str(finding.change) if finding.change is not None else "",
                "text": finding.text,
                "replay": _command(finding, words),
            }
            for finding in report.findings
        ],
    }
