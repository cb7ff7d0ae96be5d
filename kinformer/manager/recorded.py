"""What a manager tells its recorder: which controllers run, with which options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kinformer.arguments import want
from kinformer.manager.checks import parts_of
from kinformer.manager.context import ControllerContext, ControllerFactory
from kinformer.manager.loading import Made, known_controllers
from kinformer.options import OptionError
from kinformer.recording import Recorder, Recording

__all__ = ("check_recordable", "record")


def check_recordable(recording: Recording, *, informers: object, sharding: object, clusters: object) -> None:
    """
    Check that a manager with these arguments can be recorded.

    :raises OptionError: if it cannot
    """
    want(recording, isinstance(recording, Recording), "recording", "Recording(path='incident.rec')")
    if informers is not None:
        raise OptionError("a manager is given a recording and informers: leave the informers out")
    if sharding is not None:
        raise OptionError("a manager is given a recording and sharding: record a process that has all keys")
    if clusters is not None:
        raise OptionError("a manager is given a recording and clusters: record a manager of one cluster")


def record(
    recorder: Recorder,
    made: Made,
    selection: Iterable[str],
    known: Mapping[str, ControllerFactory] | None,
    context: ControllerContext,
    given: Mapping[str, Any],
) -> None:
    """
    Have the syncs of these controllers recorded, and say what runs.

    :param selection: the controllers as they were selected
    :param known: the factories to choose from, if they were given
    :param given: the options that were given
    """
    for runnable in made.controllers.values():
        for controller in parts_of(runnable):
            controller.wrap_sync(partial(recorder.wrapped, controller.name, controller.history))
    if known is None:
        installed = known_controllers()
        references = [*(name for name in made.controllers if name in installed), *filter(_is_place, selection)]
    else:
        references = [_place_of(known[name]) for name in made.controllers]
    recorder.describe(
        lambda: context.informers.every,
        controllers=references,
        options={**given, **context.effective},
        namespaces=context.informers.namespaces,
    )


def _is_place(name: str) -> bool:
    return ":" in name


def _place_of(factory: Any) -> str:
    """A factory as the command line names it."""
    return f"{getattr(factory, '__module__', '')}:{getattr(factory, '__qualname__', '')}"
