"""What a manager gives to each of its controllers to be made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.informers import SharedInformerFactory
from kinformer.options import OptionError, options_of, read_options
from kinformer.record import ClientSink, EventBroadcaster, Recorder

__all__ = ("ControllerContext", "ControllerDisabled", "ControllerFactory", "OptionError", "Options", "Runnable")

T = TypeVar("T")


class ControllerDisabled(Exception):
    """
    A controller was selected, and its options leave it nothing to do. Its factory raises this; the others run.

    kube-controller-manager does the same with a controller whose key file, say, is not given.
    """


class Options(Mapping[str, Any]):
    """
    Options by name, which remember the names that were asked for, whether there are such or not.

    What somebody was given and nobody asks for is a slip of the pen.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        #: The names that were asked for.
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Runnable(Protocol):
    """What a manager runs: a :class:`~kinformer.manager.Controller`, or anything else with a `run`."""

    async def run(self) -> None:
        """Work until cancelled."""


@dataclass(eq=False, slots=True)
class ControllerContext:
    """
    :param client: the server to write to
    :param informers: shared by all controllers of the manager, which starts it
    :param options: flags by their names in Python's spelling: ``concurrent_rc_syncs``
    """

    client: Client
    informers: SharedInformerFactory
    options: Mapping[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=RealClock)
    #: The options that controllers have read, with the values that they got.
    effective: dict[str, Any] = field(default_factory=dict, init=False)
    #: Those that :meth:`recorder` has made; the manager runs them.
    broadcasters: list[EventBroadcaster] = field(default_factory=list, init=False)

    def recorder(self, component: str) -> Recorder:
        """A recorder of one's own: another controller's flood of events does not push out this one's."""
        broadcaster = EventBroadcaster(clock=self.clock)
        broadcaster.start_recording_to_sink(ClientSink(self.client))
        self.broadcasters.append(broadcaster)
        return broadcaster.new_recorder(component)

    def read(self, options: type[T]) -> T:
        """
        A controller's options: what was given, and the defaults of what was not.

        :param options: a dataclass of :mod:`kinformer.options`
        :raises OptionError: if a value does not fit its option
        """
        read = read_options(options, self.options)
        self.effective.update({one.name: getattr(read, one.name) for one in options_of(options)})
        return read

    def option(self, name: str, default: T) -> T:
        """
        One option, of the type of `default`, for a controller that declares none; `default` if it was not given.

        :raises OptionError: if it has another type
        """
        value = self.options.get(name)
        self.effective[name] = default if value is None else value
        if value is None:
            return default
        if type(value) is not type(default):
            raise OptionError(f"option {name} is {value!r}: want {type(default).__name__}")
        return value


#: What an entry point of the group ``kinformer.controllers`` names.
ControllerFactory: TypeAlias = Callable[[ControllerContext], Runnable]
