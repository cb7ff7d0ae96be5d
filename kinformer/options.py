"""Options: what a controller can be told, declared once in a dataclass beside it.

The command line's flags, their help, and what a manager hands to the controller are all made from that::

    @dataclass(frozen=True)
    class FleetOptions:
        concurrent_fleet_syncs: int = workers(5, "fleets")
        fleet_resync_period: float = duration(300.0, "How often every fleet is looked at.")

    make_controller = Deferred("my_package.controller:make_controller", FleetOptions, permissions=PERMISSIONS)

Here ``make_controller`` is what the entry point names. It imports ``my_package.controller`` only when the controller is
made, so that ``kinformer manager --help`` knows the options of all controllers and has loaded none of them. A field's
name is the flag's, ``--concurrent-fleet-syncs``; two controllers that share an option declare it in the same way.
``PERMISSIONS`` is what the controller may do at the server (:mod:`kinformer.permissions`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kinformer.permissions import Rule

__all__ = (
    "CONTROLLERS",
    "Deferred",
    "Option",
    "OptionError",
    "duration",
    "option",
    "options_of",
    "read_options",
    "workers",
)

T = TypeVar("T")
V = TypeVar("V", bool, int, float, str)

#: The group of entry points where packages put their controllers.
CONTROLLERS: Final = "kinformer.controllers"

_METADATA: Final = "kinformer.option"


class OptionError(ValueError):
    """An option has a value of the wrong type, or there is no such option."""


class Option(NamedTuple):
    """
    One option of a controller.

    :param name: in Python's spelling: ``concurrent_rc_syncs``
    :param default: what it is when nobody says; its type is the option's
    :param minimum: the least that it may be, if that is limited
    :param maximum: the most
    :param choices: all that it may be, if not everything
    :param is_duration: a float that is a number of seconds, and on the command line a duration like ``5m0s``
    """

    name: str
    default: bool | int | float | str
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    is_duration: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    def check(self, value: Any) -> Any:
        """
        The value, in the option's type.

        :raises OptionError: if it is of another type, out of range, or none of the choices
        """
        want = type(self.default)
        if want is float and type(value) is int:
            value = float(value)
        if type(value) is not want:
            raise OptionError(f"option {self.name} is {value!r}: want {want.__name__}")
        if self.choices and value not in self.choices:
            raise OptionError(f"option {self.name} is {value!r}: want one of {', '.join(map(repr, self.choices))}")
        if self.minimum is not None and float(value) < self.minimum:
            raise OptionError(f"option {self.name} is {value!r}: want at least {self.minimum:g}")
        if self.maximum is not None and float(value) > self.maximum:
            raise OptionError(f"option {self.name} is {value!r}: want at most {self.maximum:g}")
        return value


def option(
    default: V,
    help: str,  # noqa: A002 - what click and argparse call it
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
) -> V:
    """A field of an options dataclass."""
    declared: V = _field(Option("", default, help, minimum, maximum, choices))
    return declared


def duration(seconds: float, help: str, *, minimum: float = 0.0) -> float:  # noqa: A002
    """A field that is a number of seconds."""
    declared: float = _field(Option("", float(seconds), help, minimum, is_duration=True))
    return declared


def workers(default: int, what: str) -> int:
    """A field that says how many of something are synced at once."""
    declared: int = _field(Option("", default, f"{what} synced at once.", 1))
    return declared


def options_of(type_: type[Any]) -> tuple[Option, ...]:
    """
    The options that a dataclass declares, in its order.

    :raises TypeError: if a field of it was not made by one of this module's functions
    """
    declared = []
    for it in fields(type_):
        found = it.metadata.get(_METADATA)
        if found is None:
            raise TypeError(
                f"{type_.__qualname__}.{it.name} is no option: want option(...), duration(...) or workers(...)"
            )
        declared.append(found._replace(name=it.name))
    return tuple(declared)


def read_options(type_: type[T], values: Mapping[str, Any]) -> T:
    """
    The options with what `values` says of them; what it does not name, or calls None, has its default.

    :raises OptionError: if a value does not fit its option
    """
    given: dict[str, Any] = {}
    for declared in options_of(type_):
        value = values.get(declared.name)
        if value is not None:
            given[declared.name] = declared.check(value)
    return type_(**given)


class Deferred(Generic[T]):
    """
    A function that is imported when it is called for the first time, the options that it takes, and what it needs.

    :param target: ``module:function``
    :param options: the dataclass of its options; None if it has none
    :param permissions: what it needs to be allowed at the server; None if it does not say
    """

    def __init__(
        self, target: str, options: type[Any] | None = None, *, permissions: tuple[Rule, ...] | None = None
    ) -> None:
        self.target = target
        self.options = options
        self.permissions = permissions

    def __call__(self, *args: Any) -> T:
        return self.load()(*args)

    def __repr__(self) -> str:
        return f"<Deferred {self.target}>"

    def load(self) -> Callable[..., T]:
        """
        Import it.

        :raises ImportError: if there is no such module, or it lacks the function
        """
        module, _, name = self.target.partition(":")
        loaded = importlib.import_module(module)
        try:
            function: Callable[..., T] = getattr(loaded, name)
        except AttributeError:
            raise ImportError(f"{module} has no {name!r}") from None
        return function


def _field(declared: Option) -> Any:
    return field(default=declared.default, metadata={_METADATA: declared}, kw_only=True)
