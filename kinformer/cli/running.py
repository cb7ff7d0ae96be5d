"""What every command does around its work: logging, signals and the exit status.

In: the options of a command, and the function that does its work. Out: the end of the process. An error that the user
can mend is one line on standard error, and the exit status is 1. Ctrl-C and SIGTERM end a command in order, within a
second.
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kinformer.cli.signals import Interruption
    from kinformer.client import Client

__all__ = ("exit_with", "logging_flags", "run_command", "version_of", "with_logging")

F = TypeVar("F", bound=Callable[..., Any])


def logging_flags(command: F) -> F:
    """Add the flags that :func:`with_logging` takes to a command."""
    for flag in (
        click.option("--logging-format", type=click.Choice(["text", "json"]), default="text", show_default=True),
        click.option("-v", "--v", "verbosity", type=int, default=0, help="Log level: 4 and above for details."),
    ):
        command = flag(command)
    return command


def with_logging(options: dict[str, Any], *, quiet: bool = False) -> dict[str, Any]:
    """Set up logging as the options say, and return the other options of the command."""
    from kinformer.logs import configure_logging, leave_rich_out

    leave_rich_out()
    configure_logging(options.pop("verbosity"), options.pop("logging_format"), quiet=quiet)
    return options


def run_command(
    command: Callable[[], Awaitable[int]],
    *,
    serves: bool = False,
    interrupted: int = 0,
    interruption: Interruption | None = None,
) -> None:
    """
    Run a command, and exit with its status.

    :param serves: whether it runs until it is stopped. Then it runs on uvloop if that is installed: it takes less CPU,
        and 15 ms longer to import
    :param interrupted: the exit status if a signal has ended the command
    :param interruption: what a signal does instead of cancelling the command
    """
    from kinformer.cli.signals import run_until_signal
    from kinformer.collector import keep

    keep()
    fast = serves and importlib.util.find_spec("uvloop") is not None
    exit_with(lambda: run_until_signal(command, interrupted, interruption, use_uvloop=fast))


def exit_with(work: Callable[[], int]) -> None:
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


async def version_of(client: Client) -> str:
    """
    The version of the server, as text for the terminal.

    It is checked first that the server can be reached, is an API server, and takes the credentials. Otherwise each
    informer would report this again and again. Reading the version alone needs no credentials.

    :raises ClientError: which names the server
    """
    from kinformer.client import ClientError
    from kinformer.logs import escaped

    try:
        await client.server_resources()
        return escaped((await client.server_version()).git_version)
    except ClientError as error:
        if client.server in str(error):
            raise
        raise ClientError(f"the server at {client.server}: {error}") from error
