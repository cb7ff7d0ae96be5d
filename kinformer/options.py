"""Options: the settings of a controller, declared once in a dataclass beside it.

The flags of the command line, their help, and the values that a manager passes to the controller are all made from it::

    @dataclass(frozen=True)
    class FleetOptions:
        concurrent_fleet_syncs: int = workers(5, "fleets")
        fleet_resync_period: float = duration(300.0, "How often every fleet is looked at.")

    SPEC = ControllerSpec(name="fleet", factory="my_package.controller:make_controller", options=FleetOptions)

The name of a field is the name of its flag, ``--concurrent-fleet-syncs``. Two controllers that share an option declare
it in the same way. The spec (:mod:`kinformer.spec`) is what the entry point names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, Final, NamedTuple, TypeVar

__all__ = (
    "CONTROLLERS",
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

#: The group of entry points in which packages declare their controllers.
CONTROLLERS: Final = "kinformer.controllers"

_METADATA: Final = "kinformer.option"


class OptionError(ValueError):
    """An option has a value of the wrong type or out of range, or there is no such option."""


class Option(NamedTuple):
    """
    One option of a controller.

    :param name: the name in Python's spelling: ``concurrent_rc_syncs``
    :param default: the default value; its type is the option's type
    :param minimum: the least value, if it is limited
    :param maximum: the greatest value, if it is limited
    :param choices: the values that are allowed; empty for all
    :param is_duration: whether it is a float of seconds, which the command line writes as a duration like ``5m0s``
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
        Check a value, and return it in the option's type.

        :raises OptionError: if it is of another type, out of range, or not one of the choices
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
    help: str,  # noqa: A002 - the name in click and argparse
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
) -> V:
    """Declare a field of an options dataclass."""
    declared: V = _field(Option("", default, help, minimum, maximum, choices))
    return declared


def duration(seconds: float, help: str, *, minimum: float = 0.0) -> float:  # noqa: A002 - as above
    """Declare a field that is a number of seconds."""
    declared: float = _field(Option("", float(seconds), help, minimum, is_duration=True))
    return declared


def workers(default: int, what: str) -> int:
    """Declare a field for the number of workers, which is the number of objects that are synced at once."""
    declared: int = _field(Option("", default, f"{what} synced at once.", 1))
    return declared


def options_of(type_: type[Any]) -> tuple[Option, ...]:
    """
    The options that a dataclass declares, in their order.

    :raises TypeError: if a field was not made by one of this module's functions
    """
    declared = []
    for it in fields(type_):
        found = it.metadata.get(_METADATA)
        if found is None:
            raise TypeError(
                f"{type_.__qualname__}.{it.name} is not an option: want option(...), duration(...) or workers(...)"
            )
        declared.append(found._replace(name=it.name))
    return tuple(declared)


def read_options(type_: type[T], values: Mapping[str, Any]) -> T:
    """
    Make the options from values. An option that is missing or None has its default.

    :raises OptionError: if a value does not fit its option
    """
    given: dict[str, Any] = {}
    for declared in options_of(type_):
        value = values.get(declared.name)
        if value is not None:
            given[declared.name] = declared.check(value)
    return type_(**given)


def _field(declared: Option) -> Any:
    return field(default=declared.default, metadata={_METADATA: declared}, kw_only=True)
