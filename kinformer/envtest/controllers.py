"""Controllers that a server runs for a test, named as they are installed.

An operator that makes a Deployment is tested with the controllers that make its ReplicaSets and Pods. They are found by
the entry points of the group ``kinformer.controllers``, so this package need not know the packages that have them. They
run in a :class:`~kinformer.manager.Manager` with its own client, over the server's port and on the server's clock. So a
test that turns the clock turns theirs, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from kinformer.clock import Clock
from kinformer.envtest.certificates import Authority
from kinformer.envtest.loops import LOOPS
from kinformer.envtest.serving import ServerError

if TYPE_CHECKING:
    from kinformer.client import Client
    from kinformer.manager import Manager

__all__ = ("Served", "check_not_doubled", "chosen", "connected", "installed", "running_controllers")

#: The User-Agent of the requests of a server's own clients.
_USER_AGENT: Final = "kinformer-envtest-controllers"


class Served(Protocol):
    """The part of :class:`~kinformer.envtest.ApiServer` that a client of it needs."""

    token: str
    clock: Clock
    authority: Authority | None

    @property
    def url(self) -> str:
        """Where it listens."""


def chosen(names: bool | Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Divide names into the server's own loops and installed controllers.

    All loops run unless one is named. A controller replaces the loop that does the same work.

    :param names: True for all loops, False for none
    :raises ServerError: if a name is neither a loop's nor an installed controller's
    """
    if isinstance(names, bool):
        return (LOOPS if names else ()), ()
    if isinstance(names, str):
        raise ServerError(f"controllers is {names!r}: want a list of names")
    loops = tuple(name for name in LOOPS if name in names)
    controllers = installed(name for name in names if name not in LOOPS)
    if not controllers:
        return loops, ()
    return loops or tuple(name for name in LOOPS if name not in _replaced_by(controllers)), controllers


def installed(names: Iterable[str]) -> tuple[str, ...]:
    """
    The names under which controllers are installed, each once.

    :param names: these names, or kube-controller-manager's other names for the same controllers
    :raises ServerError: if no installed controller has a name
    """
    wanted = tuple(names)
    if not wanted:
        return ()
    from kinformer.manager.loading import known_controllers
    from kinformer.manager.names import find_name

    known = known_controllers()
    found = {name: find_name(name, known) for name in wanted}
    if unknown := [name for name, there in found.items() if there is None]:
        raise ServerError(
            f"there is no controller {unknown[0]!r}: the server's own are {', '.join(LOOPS)}; "
            f"installed are {', '.join(known) or 'none'}"
        )
    return tuple(dict.fromkeys(there for there in found.values() if there is not None))


def _replaced_by(controllers: Collection[str]) -> dict[str, str]:
    """The controllers, by the names of the loops that do the same work."""
    from kinformer.manager.names import long_name

    return {long_name(name): name for name in controllers}


def check_not_doubled(controllers: Collection[str], loops: Collection[str]) -> None:
    """
    Check that no controller does the work of a loop that runs.

    :raises ServerError: if one does
    """
    for loop, name in _replaced_by(controllers).items():
        if loop in loops:
            raise ServerError(
                f"the server itself does the work of the controller {name!r}: "
                f"name it in ApiServer(controllers=…), and the server leaves that work to it"
            )


def connected(server: Served) -> AbstractAsyncContextManager[Client]:
    """A client with the server's own token, over its port and on its clock."""
    from kinformer.client import ClientOptions, connect

    ca = server.authority.certificate if server.authority is not None else None
    named = ClientOptions(user_agent=_USER_AGENT)
    return connect(url=server.url, token=server.token, ca_data=ca, clock=server.clock, options=named)


@asynccontextmanager
async def running_controllers(
    server: Served, names: Collection[str], options: dict[str, Any]
) -> AsyncIterator[Manager]:
    """
    Run installed controllers while the block runs.

    :param names: as :func:`installed` returns them
    :param options: the controllers' options, as for :class:`~kinformer.manager.Manager`
    :raises OptionError: if no controller has an option, or its value has the wrong type
    :raises ControllerLoadError: if none of them can be loaded
    """
    from kinformer.envtest.waiting import running
    from kinformer.manager import Manager

    async with connected(server) as client:
        manager = Manager(
            client, controllers=names, options=options, clock=server.clock, beside_kube_controller_manager=True
        )
        async with running(manager):
            yield manager
