"""Finding the controllers that are installed, and making those that were selected.

Those of kinformer's own distribution are the *built-in* ones: kube-controller-manager's, which a cluster of its own has
already. They run when somebody says so, never because they are installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any, NamedTuple, cast

from kinformer.logs import get_logger, traceback_text
from kinformer.manager.context import ControllerContext, ControllerDisabled, ControllerFactory, OptionError, Runnable
from kinformer.manager.selection import select_controllers
from kinformer.options import CONTROLLERS, Deferred

__all__ = (
    "ControllerLoadError",
    "Made",
    "builtin_controllers",
    "known_controllers",
    "load_factory",
    "make_controllers",
)

log = get_logger(__name__)

_DISTRIBUTION = "kinformer"


class ControllerLoadError(Exception):
    """A controller is installed, and cannot be imported or made."""


class Made(NamedTuple):
    """
    The controllers of one manager.

    :param controllers: those that run, by name
    :param builtin: the names of those of them that kube-controller-manager has as well
    :param failed: those that were selected and cannot be loaded, by name
    """

    controllers: dict[str, Runnable]
    builtin: tuple[str, ...]
    failed: dict[str, ControllerLoadError]


def known_controllers() -> dict[str, Any]:
    """The entry points of all controllers that are installed, by name; ``.load()`` imports one."""
    return {entry.name: entry for entry in sorted(entry_points(group=CONTROLLERS), key=lambda entry: entry.name)}


def builtin_controllers(installed: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of those entry points that are kinformer's own."""
    return tuple(name for name, entry in installed.items() if _distribution(entry) == _DISTRIBUTION)


def _distribution(entry: Any) -> str:
    dist = getattr(entry, "dist", None)
    return dist.name.lower() if dist is not None else ""


def make_controllers(
    selection: Iterable[str], known: Mapping[str, ControllerFactory] | None, context: ControllerContext
) -> Made:
    """
    Make those that are selected: of `known`, or of those that are installed.

    One that is installed and cannot be loaded is logged, and the others are made. So it is with one that says that it
    has nothing to do (:class:`ControllerDisabled`).

    :raises UnknownControllerError: if one is asked for that is not known
    :raises ControllerLoadError: if none of those that are selected can be loaded
    :raises OptionError: if an option is not as it should be
    """
    made: dict[str, Runnable] = {}
    if known is not None:
        for name in select_controllers(selection, known):
            with _leaving_out_disabled(name):
                made[name] = known[name](context)
        return Made(made, (), {})
    installed = known_controllers()
    builtin = builtin_controllers(installed)
    failed: dict[str, ControllerLoadError] = {}
    # What is not selected is not imported: it costs nothing, and may be broken.
    for name in select_controllers(selection, installed, builtin):
        try:
            with _leaving_out_disabled(name):
                made[name] = _make(installed[name], context)
        except ControllerLoadError as error:
            failed[name] = error
            log.error("controller_not_loaded", controller=name, error=str(error))
            log.debug("controller_not_loaded", controller=name, stack=traceback_text(error))
    if failed and not made:
        raise next(iter(failed.values()))
    return Made(made, tuple(name for name in made if name in builtin), failed)


@contextmanager
def _leaving_out_disabled(name: str) -> Iterator[None]:
    try:
        yield
    except ControllerDisabled as reason:
        log.info("controller_disabled", controller=name, why=str(reason))


def load_factory(entry: Any) -> Any:
    """
    What an entry point names, with what it says of its options and its permissions.

    :raises ControllerLoadError: if it cannot be imported
    """
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise _not_loaded(entry, error) from error


def _not_loaded(entry: Any, error: BaseException) -> ControllerLoadError:
    return ControllerLoadError(
        f"controller {entry.name} cannot be loaded from {entry.value}: {type(error).__name__}: {error}"
    )


def _make(entry: Any, context: ControllerContext) -> Runnable:
    # Importing and making run whatever the package's author wrote, sys.exit() included.
    factory = load_factory(entry)
    try:
        factory = cast("ControllerFactory", factory.load() if isinstance(factory, Deferred) else factory)
    except (Exception, SystemExit) as error:
        raise _not_loaded(entry, error) from error
    try:
        return factory(context)
    except (OptionError, ControllerDisabled):
        raise
    except (Exception, SystemExit) as error:
        raise ControllerLoadError(
            f"controller {entry.name} of {entry.value} cannot be made: {type(error).__name__}: {error}"
        ) from error
