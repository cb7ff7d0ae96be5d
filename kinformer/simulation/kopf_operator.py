"""An operator that is written with kopf, as a simulated process in virtual time.

kopf runs on asyncio, and so does the simulated network. So :class:`KopfOperator` is a program for
:meth:`World.program <kinformer.simulation.world.World.program>`::

    world.program(KopfOperator("operator.py"), "operator")

Each life of the process imports the operator's modules anew, with an empty registry: state in memory is lost when the
process is killed, as it is in a cluster.

kopf calls handlers that are plain functions in threads. Here they run in the loop's thread, in one step, and
``time.sleep`` returns at once in them. Two things raise :exc:`NotSimulated`: a daemon that is a plain function, because
it would never end, and a socket that a plain function opens, because it would reach the real network. Login handlers
are not called. Peering, liveness probes, kopf's own Events and log, and admission webhooks are off.

kopf keeps resources in sets. If an operator handles several resources, a plan gives the same run in another process
only with the same PYTHONHASHSEED.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
import json
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel

from kinformer.envtest.credentials import kubeconfig_of
from kinformer.simulation.handles import SimulatedTask
from kinformer.simulation.loop import OWNER
from kinformer.simulation.oracles import Checks
from kinformer.simulation.process import Program

__all__ = ("KOPF_CHECKS", "InThisThread", "KopfOperator", "NotSimulated")

KOPF_CHECKS: Final = Checks(
    without=("leftovers",),
    may_differ=("*:metadata.annotations[kopf.zalando.org/last-handled-configuration]", "*:status.kopf"),
)
"""The checks of runs with kopf. kopf leaves tasks behind, and notes its progress and the last state on objects."""

#: The names of the modules that are imported again with an operator, by the operator.
_imported: dict[str, set[str]] = {}
#: The value of KUBECONFIG before, and those of the operators that run.
_kubeconfigs: list[str] = []

#: More seconds than any rounding error of virtual times.
_ROUNDING: Final = 1e-6
#: Turns of the loop that kopf's tasks get to end after they were cancelled.
_TURNS: Final = 100


class NotSimulated(Exception):
    """An operator does something that a simulated run cannot do. The text names it."""


@dataclass(frozen=True, slots=True)
class KopfOperator:
    """
    A program that runs kopf with the handlers of a module.

    :param module: the path of a Python file, or the name of a module
    """

    module: str

    async def __call__(self, program: Program) -> None:
        """
        Run the operator until cancelled.

        :raises NotSimulated: if it has a daemon that is a plain function
        :raises ImportError: if the module cannot be imported
        """
        import kopf
        from kopf._cogs.aiokits import aiotasks, aiotime
        from kopf._cogs.structs.credentials import Vault
        from kopf._core.intents import registries

        owner = OWNER.get()
        registry = kopf.OperatorRegistry()
        registries.set_default_registry(registry)
        # At its end, kopf cancels all tasks of the loop that were made since its start. Some belong to other processes.
        aiotasks.all_tasks = _own_tasks
        aiotime.sleep = _never_in_vain(aiotime.sleep)
        logging.getLogger("kopf").setLevel(logging.CRITICAL + 1)
        with _kubeconfig(program):
            _import_anew(self.module)
            _check(registry)
            _set_login(registry, program)
            identity: Any = program.name
            vault = Vault()
            settings = kopf.OperatorSettings()
            settings.posting.enabled = False
            settings.execution.executor = InThisThread()
            try:
                await kopf.operator(
                    registry=registry,
                    settings=settings,
                    standalone=True,
                    clusterwide=True,
                    identity=identity,
                    vault=vault,
                )
            finally:
                with anyio.CancelScope(shield=True):
                    await _end_tasks(owner)
                    await vault.close()


def _never_in_vain(sleep: Callable[..., Any]) -> Callable[..., Any]:
    """
    kopf's own sleep, but it takes time where the time that is left is none by a rounding error.

    A timer with ``idle`` asks again and again until its time has come. In virtual time that would be never.
    """
    sleep = getattr(sleep, "__wrapped__", sleep)

    @functools.wraps(sleep)
    async def slept(delays: Any, *args: Any, **more: Any) -> Any:
        is_rounded = isinstance(delays, float) and -_ROUNDING < delays <= 0
        return await sleep(_ROUNDING if is_rounded else delays, *args, **more)

    return slept


def _set_login(registry: Any, program: Program) -> None:
    """Let kopf log in at the simulated server, and in no other way."""
    import kopf
    from kopf._core.intents.causes import Activity

    handlers = registry._activities._handlers
    handlers[:] = [handler for handler in handlers if handler.activity is not Activity.AUTHENTICATION]

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> Any:
        return kopf.ConnectionInfo(server=program.url, token=program.token)


def _check(registry: Any) -> None:
    """
    :raises NotSimulated: if there is a daemon that is a plain function
    """
    from kopf._core.intents.handlers import DaemonHandler

    for handler in registry._spawning.get_all_handlers():
        if isinstance(handler, DaemonHandler) and not asyncio.iscoroutinefunction(handler.fn):
            raise NotSimulated(f"the daemon {handler.id} is a plain function: want an async function")


async def _own_tasks(*, ignored: Collection[Any] = frozenset()) -> list[asyncio.Task[Any]]:
    """The tasks of the simulated process that asks, or all in another loop; without the task that asks."""
    owner = OWNER.get()
    tasks = _tasks_of(owner) if owner is not None else asyncio.all_tasks() - {asyncio.current_task()}
    return [task for task in tasks if task is not None and task not in ignored]


def _tasks_of(owner: object) -> list[SimulatedTask]:
    mine = [
        task
        for task in asyncio.all_tasks()
        if isinstance(task, SimulatedTask) and task.owner is owner and task is not asyncio.current_task()
    ]
    return sorted(mine, key=lambda task: task.number)


async def _end_tasks(owner: object) -> None:
    """End the tasks that kopf leaves behind when it is cancelled."""
    for _ in range(_TURNS):
        if not (mine := _tasks_of(owner)):
            return
        for task in mine:
            task.cancel()
        await anyio.lowlevel.checkpoint()


# -- modules ----------------------------------------------------------------------------------------------------------


def _import_anew(module: str) -> None:
    """
    Import a module as a new process does: the state in it and in the modules beside it is lost.

    :raises ImportError: if it cannot be imported
    """
    path = Path(module).resolve()
    is_file = module.endswith(".py")
    folder, top = str(path.parent), module.partition(".")[0]
    for name in {module, *_imported.pop(module, ())}:
        sys.modules.pop(name, None)
    before = set(sys.modules)
    try:
        if not is_file:
            importlib.import_module(module)
            return
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        with _replaced(sys, "path", [folder, *sys.path]):
            spec.loader.exec_module(made)
    finally:
        # Only modules beside the operator are imported again. Libraries keep their state.
        _imported[module] = {
            name
            for name in set(sys.modules) - before
            if (_folder_of(name) == folder if is_file else name == top or name.startswith(f"{top}."))
        }


def _folder_of(module: str) -> str:
    file = getattr(sys.modules[module], "__file__", None)
    return str(Path(file).parent) if file else ""


@contextmanager
def _kubeconfig(program: Program) -> Iterator[None]:
    """Let clients that the operator makes find the simulated server."""
    if not _kubeconfigs:
        _kubeconfigs.append(os.environ.get("KUBECONFIG", ""))
    with tempfile.TemporaryDirectory(prefix="kinformer-") as folder:
        file = Path(folder) / "config"
        file.write_text(json.dumps(kubeconfig_of(program.url, {"token": program.token})))
        _kubeconfigs.append(str(file))
        os.environ["KUBECONFIG"] = str(file)
        try:
            yield
        finally:
            _kubeconfigs.remove(str(file))
            os.environ["KUBECONFIG"] = _kubeconfigs[-1]
            if len(_kubeconfigs) == 1 and not _kubeconfigs.pop():
                del os.environ["KUBECONFIG"]


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


# -- plain functions --------------------------------------------------------------------------------------------------


class InThisThread(Executor):
    """Runs functions at once, in the thread that asks for them."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            with _replaced(time, "sleep", _no_sleep), _replaced(socket.socket, "connect", _no_socket):
                done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def _no_sleep(seconds: float) -> None:
    """Stand in for ``time.sleep``: a plain function takes no virtual time."""


def _no_socket(self: socket.socket, address: Any) -> None:
    raise NotSimulated(f"a plain function connects to {address}: want an async function, with an async client")
