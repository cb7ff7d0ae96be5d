"""The context: what a manager passes to the factory of each controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, TypeVar

from kinformer.client import Client
from kinformer.clock import Clock, RealClock
from kinformer.cluster import CLUSTER
from kinformer.informers import SharedInformerFactory
from kinformer.options import OptionError, options_of, read_options
from kinformer.record import ClientSink, EventBroadcaster, Recorder

__all__ = (
    "ControllerContext",
    "ControllerDisabled",
    "ControllerFactory",
    "HasController",
    "OptionError",
    "Options",
    "Runnable",
)

T = TypeVar("T")


class ControllerDisabled(Exception):
    """
    Raised by the factory of a controller whose options leave it nothing to do. The other controllers run.

    An example is a controller whose key file is not given. kube-controller-manager does not start it either.
    """


class Options(Mapping[str, Any]):
    """
    Options by name. The mapping records every name that is read, also names that it does not have.

    An option that was given and that no controller reads is probably misspelled.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        #: The names that were read.
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Runnable(Protocol):
    """What a manager runs: a :class:`~kinformer.manager.Controller`, or another object with a `run` method."""

    async def run(self) -> None:
        """Run until cancelled."""


class HasController(Protocol):
    """An object around what a manager runs. So a class of an author's own can be the factory of its controller."""

    @property
    def controller(self) -> Runnable: ...


@dataclass(eq=False, slots=True)
class ControllerContext:
    """
    What a manager passes to the factory of each controller.

    :param client: for requests to the API server
    :param informers: shared by all controllers. The manager starts them
    :param events: for Events; `client` if None
    :param options: the values of flags. The names have underscores in place of dashes: ``concurrent_rc_syncs``
    :param clusters: in a :class:`~kinformer.manager.Fleet`: the clients of all clusters that it works for now, by name.
        Each writes only while this process may write to *its* cluster. Look a client up for each use: when a cluster
        goes or is started again, its client is closed
    :ivar cluster: in a fleet: the name of the cluster that this context is for; else empty
    """

    client: Client
    informers: SharedInformerFactory
    options: Mapping[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=RealClock)
    events: Client | None = None
    clusters: Mapping[str, Client] = field(default_factory=dict)
    cluster: str = field(default_factory=CLUSTER.get, init=False)
    #: The options that controllers have read, with the values that they got.
    effective: dict[str, Any] = field(default_factory=dict, init=False)
    #: The broadcasters that :meth:`recorder` has created. The manager runs them.
    broadcasters: list[EventBroadcaster] = field(default_factory=list, init=False)

    def acting_with(self, client: Client, events: Client) -> ControllerContext:
        """
        The same context with other credentials, for one controller.

        :param client: for its requests. The informers keep their own client
        :param events: for its Events
        """
        context = replace(self, client=client, events=events)
        context.effective, context.broadcasters = self.effective, self.broadcasters
        return context

    def recorder(self, component: str) -> Recorder:
        """
        Create a recorder with its own broadcaster, so that many events of one controller do not displace another's.
        """
        broadcaster = EventBroadcaster(clock=self.clock)
        broadcaster.start_recording_to_sink(ClientSink(self.events or self.client))
        self.broadcasters.append(broadcaster)
        return broadcaster.new_recorder(component)

    def read(self, options: type[T]) -> T:
        """
        Read a controller's options. An option that was not given has its default.

        :param options: a dataclass of :mod:`kinformer.options`
        :raises OptionError: if a value has the wrong type or is out of range
        """
        read = read_options(options, self.options)
        self.effective.update({one.name: getattr(read, one.name) for one in options_of(options)})
        return read

    def option(self, name: str, default: T) -> T:
        """
        Read one option, for a controller that declares no options.

        :return: the value, or `default` if none was given
        :raises OptionError: if the value does not have the type of `default`
        """
        value = self.options.get(name)
        self.effective[name] = default if value is None else value
        if value is None:
            return default
        if type(value) is not type(default):
            raise OptionError(f"option {name} is {value!r}: want {type(default).__name__}")
        return value


#: An entry point of the group ``kinformer.controllers`` refers to such a function or class.
ControllerFactory: TypeAlias = Callable[[ControllerContext], Runnable | HasController]
