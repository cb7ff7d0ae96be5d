"""Write ``docs/controllers/flags.md``'s table: every flag of kube-controller-manager, and what it does here."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from kinformer.cli.manager_command import manager
from kinformer_controllers.kubecontrollermanager.flags import FLAGS, Effect, Flag

__all__ = ("FIRST", "FLAGS_PAGE", "flags_table")

#: The heading at which the table begins.
FIRST: Final = "## Flags: debugging"

FLAGS_PAGE: Final = Path(__file__).parents[1] / "docs" / "controllers" / "flags.md"


def flags_table() -> str:
    """The page's table, from the first heading of a section to the end."""
    with click.Context(manager) as context:
        here = {option.lstrip("-") for it in manager.get_params(context) for option in it.opts}
    parts: dict[str, list[str]] = {}
    for flag in FLAGS.values():
        parts.setdefault(flag.section, []).append(_row(flag, here))
    head = "| flag | default there | here | why, or what differs |\n|---|---|---|---|\n"
    return "\n".join(
        f"## Flags: {section[0].lower() + section[1:]}\n\n{head}{''.join(rows)}" for section, rows in parts.items()
    )


def _row(flag: Flag, here: set[str]) -> str:
    effect, why = flag.effect, flag.why
    if effect is Effect.CONTROLLER:
        effect, why = (Effect.SAME, "") if flag.name in here else (Effect.NONE, "its controller is not here.")
    shown = f"{effect.value}: {flag.here}" if flag.here else effect.value
    default = f"`{flag.default}`" if flag.default else ""
    return f"| `--{flag.name}` | {default} | {shown} | {why} |\n".replace("|  |", "| |")
