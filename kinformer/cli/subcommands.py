"""Commands that have others under them: those of other packages, and those under a command with arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from kinformer.installed import installed

__all__ = ("Group", "WithInstalled", "WithSubcommands")

#: The entry points by which other packages add commands.
_COMMANDS: Final = "kinformer.commands"
#: Characters: longer than any first sentence.
_SENTENCE: Final = 1000


class Group(click.Group):
    """A group whose help has the whole first sentence of each command. click cuts it off at the end of the line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, it.get_short_help_str(_SENTENCE)) for name, it in commands if it is not None])


class WithInstalled(Group):
    """A group that also has the commands of other packages: entry points of the group ``kinformer.commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *(entry.name for entry in installed(_COMMANDS))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found: click.Command | None = next(
            (entry.load() for entry in installed(_COMMANDS) if entry.name == cmd_name), None
        )
        return found


class WithSubcommands(click.Command):
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
