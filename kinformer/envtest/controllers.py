"""Controllers that a server runs for a test, by the names under which they are installed.

An operator that makes a Deployment is tested with the controllers that make its ReplicaSets and Pods. They are found by
the entry points of the group ``kinformer.controllers``, so that whatever package brings them, this one need not know
it. They run in a :class:`~kinformer.manager.Manager` that has a client of its own, over the server's port and on the
server's clock: a test that turns the clock turns theirs, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from kinformer.envtest.loops import LOOPS
from kinformer.envtest.serving import ServerError

if TYPE_CHECKING:
    from kinformer.envtest.server import ApiServer
    from kinformer.manager import Manager

__all__ = ("USER_AGENT", "check_not_doubled", "chosen", "installed", "running_controllers")

#: What the requests of these controllers are sent as.
USER_AGENT: Final = "kinformer-envtest-controllers"


def chosen(names: bool | Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    The server's own loops, and the installed controllers, that some names stand for.

    All loops run unless one is named. A controller takes the place of the loop that does its work.

    :param names: True for all loops, False for none
    :raises ServerError: for a name that is neither a loop's nor an installed controller's
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
    Controllers by the names that they are installed under, each once.

    :param names: those names, or the other ones that kube-controller-manager has for the same controllers
    :raises ServerError: for a name that no installed controller has
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
    """By the loops that do the same work, the controllers."""
    from kinformer.manager.names import long_name

    return {long_name(name): name for name in controllers}


def check_not_doubled(controllers: Collection[str], loops: Collection[str]) -> None:
    """
    :raises ServerError: if one of the controllers does the work of one of the loops
    """
    for loop, name in _replaced_by(controllers).items():
        if loop in loops:
            raise ServerError(
                f"the server does the work of the controller {name!r} by itself: "
                f"give the name to ApiServer(controllers=…), which then leaves that to it"
            )


@asynccontextmanager
async def running_controllers(
    server: ApiServer, names: Collection[str], options: dict[str, Any]
) -> AsyncIterator[Manager]:
    """
    Run installed controllers as long as the block does.

    :param names: as :func:`installed` returns them
    :param options: what the controllers are told, as for :class:`~kinformer.manager.Manager`
    :raises OptionError: if no controller knows an option, or its value has the wrong type
    :raises ControllerLoadError: if none of them can be loaded
    """
    from kinformer.client import connect
    from kinformer.envtest.waiting import running
    from kinformer.manager import Manager

    ca = server.authority.certificate if server.authority is not None else None
    async with connect(
        url=server.url, token=server.token, ca_data=ca, clock=server.clock, user_agent=USER_AGENT
    ) as client:
        manager = Manager(
            client, controllers=names, options=options, clock=server.clock, beside_kube_controller_manager=True
        )
        async with running(manager):
            yield manager
