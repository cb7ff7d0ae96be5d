"""Finds the installed controllers, and creates those that were selected.

The controllers of the distribution ``kinformer`` are the *built-in* ones: those of kube-controller-manager. A cluster
usually runs them already. So they run only if they are selected by name, not because they are installed.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple, cast

from kinformer.arguments import takes, want_function, want_several
from kinformer.installed import installed, module_of_path
from kinformer.logs import get_logger, traceback_text, typed_error_text
from kinformer.manager.context import ControllerContext, ControllerDisabled, ControllerFactory, OptionError, Runnable
from kinformer.manager.controller import Controller
from kinformer.manager.selection import select_controllers
from kinformer.options import CONTROLLERS
from kinformer.spec import ControllerSpec, declared_by

__all__ = (
    "ControllerLoadError",
    "Made",
    "builtin_controllers",
    "find_controllers",
    "known_controllers",
    "load_factory",
    "make_controllers",
    "runnable_of",
    "webhooks_of",
)

log = get_logger(__name__)

_DISTRIBUTION = "kinformer"


class ControllerLoadError(Exception):
    """An installed controller cannot be imported or created."""


class Made(NamedTuple):
    """
    The controllers of one manager.

    :param controllers: the controllers that run, by name
    :param builtin: the names of those of them that are built-in
    :param failed: the errors of controllers that were selected and cannot be loaded, by name
    :param factories: what each controller was made by, by name: a spec, a function, or a class
    """

    controllers: dict[str, Runnable]
    builtin: tuple[str, ...]
    failed: dict[str, ControllerLoadError]
    factories: dict[str, Any]

    @property
    def specs(self) -> dict[str, ControllerSpec]:
        """The specs of those controllers that have one, by name."""
        return {name: spec for name, spec in self.factories.items() if isinstance(spec, ControllerSpec)}

    @property
    def webhooks(self) -> list[Any]:
        """The webhooks that the controllers declare, each once."""
        return webhooks_of(self.factories.values())


def known_controllers() -> dict[str, Any]:
    """
    The entry points of all installed controllers, by name. The method ``load()`` of an entry point imports it.

    A package that is installed later is found by the next process.
    """
    return {entry.name: entry for entry in installed(CONTROLLERS)}


def find_controllers(selection: Iterable[str]) -> tuple[list[str], dict[str, Any]]:
    """
    The installed controllers, and those that a selection names as ``MODULE:NAME``.

    :param selection: names; see :mod:`kinformer.manager.selection`. ``MODULE:NAME`` is the place of a spec, of a
        factory or of a :class:`~kinformer.operator.Reconciler`, as in an entry point
    :return: the selection with a name in place of each ``MODULE:NAME``, and the entry points by name
    :raises ControllerLoadError: if something cannot be imported
    """
    want_several(selection, "controllers", "a list of names, as in controllers=['web']")
    selection, found = tuple(selection), known_controllers()
    references = {name: _name_in(name) for name in selection if ":" in name}
    taken = Counter(references.values())
    for reference, name in references.items():
        # Several functions of one module: the module's name would stand for only one of them.
        references[reference] = name = name if taken[name] == 1 else reference
        found[name] = EntryPoint(name, reference, CONTROLLERS)
    return [references.get(name, name) for name in selection], found


def _name_in(reference: str) -> str:
    """The name of what ``MODULE:NAME`` refers to; that of the module if it has none."""
    if module := module_of_path(reference):
        raise ControllerLoadError(f"{reference} is a path: want MODULE:NAME, as in {module}")
    entry = EntryPoint(reference.partition(":")[0].rpartition(".")[2], reference, CONTROLLERS)
    named = getattr(load_factory(entry), "name", "")
    return named if named and isinstance(named, str) else entry.name


def webhooks_of(factories: Iterable[Any]) -> list[Any]:
    """
    The webhooks that some controllers declare, each once.

    :param factories: what the controllers are made by
    :raises ImportError: if a spec names webhooks that cannot be imported
    """
    found = (declared_by(factory, "webhooks") for factory in factories)
    return list({id(one): one for one in found if one is not None}.values())


def builtin_controllers(installed: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the entry points that belong to kinformer's own distribution."""
    distributions = {id(dist): dist for entry in installed.values() if (dist := getattr(entry, "dist", None))}
    # Entry points of one package share their distribution, whose name is parsed from a file each time.
    own = {number for number, dist in distributions.items() if dist.name.lower() == _DISTRIBUTION}
    return tuple(name for name, entry in installed.items() if id(getattr(entry, "dist", None)) in own)


def make_controllers(
    selection: Iterable[str],
    known: Mapping[str, ControllerFactory] | None,
    context_of: Callable[[str], ControllerContext],
) -> Made:
    """
    Create the selected controllers.

    If an installed controller cannot be loaded, this is logged and the other controllers are created. The same holds
    for a controller that has nothing to do (:class:`ControllerDisabled`).

    :param selection: the names; see :mod:`kinformer.manager.selection`
    :param known: the factories to choose from, by name; None: those of the installed controllers
    :param context_of: gives the context that is passed to the factory of a controller, by the controller's name
    :raises UnknownControllerError: if a selected name is not known
    :raises ControllerLoadError: if controllers are selected and none of them can be loaded
    :raises OptionError: if an option is not valid
    """
    made: dict[str, Runnable] = {}
    factories: dict[str, Any] = {}
    if known is not None:
        for name in select_controllers(selection, known):
            with _leaving_out_disabled(name):
                factory = known[name]
                want_function(factory, 1, f"the factory of controller {name}", "a function of the context")
                made[name] = _checked(name, factory(context_of(name)))
                factories[name] = _declaring(name, factory, made[name])
        return Made(made, (), {}, factories)
    selection, installed = find_controllers(selection)
    builtin = builtin_controllers(installed)
    failed: dict[str, ControllerLoadError] = {}
    # Controllers that are not selected are not imported. That would take time, and they may be broken.
    for name in select_controllers(selection, installed, builtin, functools.partial(_is_off, installed)):
        try:
            with _leaving_out_disabled(name):
                factory = load_factory(installed[name])
                made[name] = _make(installed[name], factory, context_of(name))
                factories[name] = _declaring(name, factory, made[name])
        except ControllerLoadError as error:
            failed[name] = error
            log.error("controller_not_loaded", controller=name, error=str(error))
            log.debug("controller_not_loaded", controller=name, stack=traceback_text(error))
    if failed and not made:
        raise next(iter(failed.values()))
    return Made(made, tuple(name for name in made if name in builtin), failed, factories)


@contextmanager
def _leaving_out_disabled(name: str) -> Iterator[None]:
    try:
        yield
    except ControllerDisabled as reason:
        log.info("controller_disabled", controller=name, why=str(reason))


def _checked(name: str, made: Any) -> Runnable:
    """
    What a factory gave, if it can be run.

    :raises TypeError: if it cannot
    """
    if inspect.iscoroutine(made):
        made.close()
        raise TypeError(f"the factory of controller {name} is async: want a plain function that returns a Controller")
    runnable = runnable_of(made)
    if not callable(getattr(runnable, "run", None)):
        raise TypeError(
            f"the factory of controller {name} returned {made!r}: want a Controller, or an object that has a run()"
        )
    return cast("Runnable", runnable)


def _declaring(name: str, factory: Any, made: Runnable) -> Any:
    """
    What declares webhooks: a spec; or the class of the :class:`~kinformer.operator.Reconciler` behind another factory.

    :raises OptionError: if a spec does not name the webhooks of its reconciler: they would not be served
    """
    reconciler = made.reconciler if isinstance(made, Controller) else None
    if not isinstance(factory, ControllerSpec):
        return reconciler or factory
    if reconciler is not None and reconciler.webhooks is not None and not factory.webhooks:
        place = f"{reconciler.__module__}:{reconciler.__qualname__}.webhooks"
        raise OptionError(
            f"controller {name}: its ControllerSpec does not name the webhooks of {reconciler.__qualname__}: want "
            f'webhooks="{place}"'
        )
    return factory


def runnable_of(made: Any) -> Any:
    """
    What to run of that which a factory gave.

    :param made: a :class:`~kinformer.operator.Reconciler`, which makes its controller; an object with `run`; or an
        object with `controller`, which is such an object
    """
    held = getattr(made, "controller", None)
    if callable(held):
        return held()
    return made if held is None or hasattr(made, "run") else held


def load_factory(entry: Any) -> Any:
    """
    Import what an entry point refers to: a spec, or a factory.

    :raises ControllerLoadError: if it cannot be imported
    """
    try:
        if entry.value.endswith(":"):
            raise ImportError("it names nothing of the module: want MODULE:NAME")
        return entry.load()
    except (Exception, SystemExit) as error:
        raise _not_loaded(entry, error) from error


def _not_loaded(entry: Any, error: BaseException) -> ControllerLoadError:
    return ControllerLoadError(
        f"controller {entry.name} cannot be loaded from {entry.value}: {typed_error_text(error)}"
    )


def _is_off(installed: Mapping[str, Any], name: str) -> bool:
    """Whether a controller runs only if it is selected by name."""
    try:
        spec = load_factory(installed[name])
    except ControllerLoadError:
        return False  # it is reported when it is made
    return isinstance(spec, ControllerSpec) and not spec.on_by_default


def _make(entry: Any, factory: Any, context: ControllerContext) -> Runnable:
    # This runs code of other packages, which may even call sys.exit().
    try:
        factory = cast("ControllerFactory", factory.load() if isinstance(factory, ControllerSpec) else factory)
    except (Exception, SystemExit) as error:
        raise _not_loaded(entry, error) from error
    try:
        return _checked(entry.name, factory(context))
    except (OptionError, ControllerDisabled):
        raise
    except (Exception, SystemExit) as error:
        hint = "" if takes(factory, 1) else ". It is called with the context alone: want defaults for the others"
        raise ControllerLoadError(
            f"controller {entry.name} of {entry.value} cannot be made: {typed_error_text(error)}{hint}"
        ) from error
