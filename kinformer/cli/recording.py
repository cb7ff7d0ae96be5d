"""The flags of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from kinformer.cli.flags import NumberRange
from kinformer.cli.groups import FlagGroup, flag, names_flag

if TYPE_CHECKING:
    from kinformer.recording import Recording

__all__ = ("RecordingFlags", "recording_of")

_MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class RecordingFlags(FlagGroup):
    """The flags."""

    record: str = flag(
        "",
        "Record what the controllers are told and what they do, and keep the last minutes, for `kinformer simulate "
        "replay FILE`. Older parts are in FILE.1 to FILE.3.  [off]",
        metavar="FILE",
    )
    record_minutes: float = flag(
        10.0, "How many minutes are kept at least, if they fit into the size.", type=NumberRange(min=0.1)
    )
    record_size: int = flag(
        256, "How many MiB all files of the recording have together at most.", type=click.IntRange(1)
    )
    record_redact: str = names_flag(
        "", "NAMES", "Annotations whose values are not recorded, with commas between. Data of Secrets never are."
    )


def recording_of(flags: RecordingFlags, *, contexts: str = "", shards: int = 0) -> Recording | None:
    """
    The options of the recording; None if there is none.

    :raises OptionError: if it is not possible with the other flags
    """
    if not flags.record:
        return None
    from kinformer.manager import OptionError
    from kinformer.recording import Recording  # most processes do not record

    if contexts:
        raise OptionError("--record: a recording is of one cluster: give --context in place of --contexts")
    if shards:
        raise OptionError("--record: a recording is of a process that has all keys: leave out --shards")
    redact = [name.strip() for name in flags.record_redact.split(",") if name.strip()]
    try:
        return Recording(path=flags.record, minutes=flags.record_minutes, size=flags.record_size * _MIB, redact=redact)
    except ValueError as error:
        raise OptionError(f"--record: {error}") from None
