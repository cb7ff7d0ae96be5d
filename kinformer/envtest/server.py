"""ApiServer: starts and stops the embedded API server, and says where it listens."""

from __future__ import annotations

import base64
import random
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio
import yaml
from anyio.abc import TaskGroup, TaskStatus

from kinformer.blocking import running_loop
from kinformer.clock import Clock, RealClock
from kinformer.envtest.access import ADMINISTRATOR, MASTERS, Authorizer, Escalation, Users
from kinformer.envtest.admission import Admission, AdmissionContext, load_plugins
from kinformer.envtest.certificates import Authority, CertificatesUnavailable, KeyPair
from kinformer.envtest.containers import FakeContainers
from kinformer.envtest.controllers import check_not_doubled, chosen, installed, running_controllers
from kinformer.envtest.conversion import Conversions
from kinformer.envtest.credentials import kubeconfig_of
from kinformer.envtest.discovery import VERSION, Discovery
from kinformer.envtest.faults import Faults
from kinformer.envtest.handlers.http import HttpHandler
from kinformer.envtest.handlers.watching import WatchSet
from kinformer.envtest.limit_ranges import LimitRanger
from kinformer.envtest.loops import Loops
from kinformer.envtest.operations import Operations
from kinformer.envtest.plugins import (
    ClaimResize,
    DefaultClasses,
    NamespaceLifecycle,
    Priority,
    RuntimeClass,
    SigningRequests,
    StoredObjects,
    TopologyLabels,
)
from kinformer.envtest.policies import Policies
from kinformer.envtest.registry import Registry
from kinformer.envtest.replica import Replica
from kinformer.envtest.serving import RequestHandler, ServerError, listen, serving
from kinformer.envtest.storage import Journal, JournalError, Storage, first_version
from kinformer.envtest.strategies import Strategies
from kinformer.envtest.strategy import SYSTEM_CLASSES
from kinformer.envtest.system_pods import running_system_pods
from kinformer.envtest.webhooks import Caller, ServiceResolver, Webhooks
from kinformer.envtest.writes import WriteLog
from kinformer.files import write_whole

if TYPE_CHECKING:
    from kinformer.manager import Manager

__all__ = ("ApiServer", "ServerError")

_SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


@dataclass(frozen=True, slots=True, eq=False)
class _Life:
    """One period of serving, from a start to the next stop."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    over: anyio.Event = field(default_factory=anyio.Event)

    async def end(self) -> None:
        self.scope.cancel()
        await self.over.wait()


# More than 15 fields: what a user gives is kept, as a restart builds all parts of the server anew from it.
class ApiServer:
    """
    A Kubernetes API server in this process::

        async with ApiServer() as server:
            print(server.url, server.token)

    It serves while the block runs. After the block, every watch has ended, and no task is left.

    :param host: the address to listen on
    :param port: the port to listen on; 0 for a free one
    :param token: the bearer token that is allowed to do everything; a random one if None
    :param clock: the clock of the server, its timeouts and its loops
    :param controllers: what runs in the server, like a cluster's controller manager and kubelets beside a real one.
        True: the server's own loops, which are the garbage collector, the namespace controller and the end of pods'
        grace periods. False: nothing. Or names: ``("deployment", "replicaset")`` also runs these installed controllers,
        on the server's clock. If some of :data:`~kinformer.envtest.loops.LOOPS` are named, the server's other loops do
        not run: ``("kubelet",)`` if your own manager runs the other two
    :param plugins: whether to use the admission plug-ins of installed packages
    :param seed: makes names and uids the same in every run
    :param version: the values of ``/version``
    :param tls: serve HTTPS, with an own CA that the kubeconfig trusts. kubectl and Go clients send tokens only over
        HTTPS. It needs the package `cryptography`
    :param data: a file that stores everything; without it, everything is gone when the server stops
    :param advertise: the address that discovery returns, if it is not the one to listen on
    :param resolve_service: returns host and port of the service behind an admission webhook, for its namespace, name
        and port; raises LookupError if there is none. The server has no network of services
    :param coordinated_leader_election: allow Leases with a strategy and a preferred holder, like the feature gate
        ``CoordinatedLeaderElection``, which is off by default
    :param apis: groups and versions to serve besides those that kube-apiserver serves by default, like its
        ``--runtime-config``: ``("resource.k8s.io/v1beta2",)`` for DeviceTaintRules. Only kinds that a controller of
        kube-controller-manager needs are known
    :param system_pods: make a control plane's node, its pods in ``kube-system`` and their owners, with the names and
        labels of a kubeadm cluster, and the service ``kubernetes``. A fake node keeps the pods ready
    :raises ServerError: if the token is empty, or one of `apis` is not known
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        clock: Clock | None = None,
        controllers: bool | Collection[str] = True,
        plugins: bool = True,
        seed: int | None = None,
        version: dict[str, str] | None = None,
        tls: bool = False,
        data: str | Path | None = None,
        advertise: str = "",
        resolve_service: ServiceResolver | None = None,
        coordinated_leader_election: bool = False,
        apis: Collection[str] = (),
        system_pods: bool = False,
    ):
        self._host = host
        self._port = port
        if token is not None and not token.strip():
            raise ServerError("the token is empty: leave it out to have one made up")
        self.token = token if token is not None else secrets.token_urlsafe(24)
        self.clock: Clock = clock if clock is not None else RealClock()
        #: The contents of pods' containers: logs, commands, ports.
        self.containers = FakeContainers(self.clock)
        #: Reports each writing request; see :func:`~kinformer.envtest.assert_no_writes`.
        self.writes = WriteLog()
        self._loops, self._controllers = chosen(controllers)
        self._use_plugins = plugins
        self._rng = random.Random(seed)
        self._version = {**VERSION, **(version or {})}
        self._advertise = advertise
        self._resolve_service = resolve_service or _no_endpoints
        self._data = data
        self._tls = tls
        #: The CA of the server, if it has TLS. It can issue more certificates.
        self.authority: Authority | None = None
        self._least_version = 0
        self._users = Users(self.token, self.clock, lambda: self.storage)
        self._coordinated = coordinated_leader_election
        self._apis = tuple(apis)
        self._system_pods = system_pods
        self._build()
        self._stack: AsyncExitStack | None = None
        self._tasks: TaskGroup | None = None
        self._life: _Life | None = None
        self._journal: Journal | None = None

    def _build(self) -> None:
        """Make the server's parts, with empty storage."""
        self.storage = Storage(first=max(self._least_version, first_version(self.clock.now())))
        try:
            self.registry = Registry(self._apis)
        except LookupError as error:
            raise ServerError(str(error)) from error
        self.watches = self._new_watches()
        self.faults = Faults(self.storage, self.watches, self.clock)
        self.admission = Admission()
        self._strategies = Strategies(self.storage, self.registry, self.clock, coordinated=self._coordinated)
        self.operations = Operations(
            self.storage, self.registry, self.clock, self.admission, self._strategies, self._rng, self._users.issue
        )
        # Admission and conversion webhooks are called over the same connections.
        self._caller = Caller(self.clock, self._resolve_service)
        self._conversions = Conversions(
            self.storage, self._strategies.definitions, self._caller, self.operations.new_uid
        )
        self.webhooks = Webhooks(self.operations, self._caller, self._conversions.convert)

    # -- where it is ------------------------------------------------------------------------------------------------

    @property
    def port(self) -> int:
        """The port that it listens on, once it has started."""
        return self._port

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self._port}"

    def kubeconfig(self, *, certificate: bool = False) -> str:
        """
        A kubeconfig, in YAML, whose only context is this server.

        :param certificate: add a client certificate, which may do everything, as the token may
        :raises ServerError: if a certificate is asked for, and the server has no TLS or has not started
        """
        authority = self.authority
        trusted = base64.b64encode(authority.certificate).decode() if authority is not None else ""
        user = {"token": self.token}
        if certificate:
            if authority is None:
                raise ServerError("a client certificate needs a server with TLS that has started")
            pair = authority.issue(ADMINISTRATOR, (MASTERS,))
            user["client-certificate-data"] = base64.b64encode(pair.certificate).decode()
            user["client-key-data"] = base64.b64encode(pair.key).decode()
        return yaml.safe_dump(kubeconfig_of(self.url, user, authority=trusted), sort_keys=False)

    def write_kubeconfig(self, path: str | Path, *, certificate: bool = False) -> None:
        """
        Write the kubeconfig to a file that only its owner can read, with :func:`kinformer.files.write_whole`.

        :param certificate: see :meth:`kubeconfig`
        :raises ServerError: see :meth:`kubeconfig`
        :raises OSError: if that cannot be done; it names `path`
        """
        write_whole(Path(path), self.kubeconfig(certificate=certificate), mode=0o600)

    # -- starting and stopping ----------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """
        Start the server.

        :raises ServerError: if the port is taken, or the data file cannot be used
        """
        running_loop()  # raises if this is not asyncio
        stack = AsyncExitStack()
        self._tasks = group = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(group.cancel_scope.cancel)
        self._stack = stack
        try:
            await self._start()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        stack, self._stack = self._stack, None
        self._tasks = self._life = None
        if stack is not None:
            # The server's tasks do not get the error of the block, which is raised unchanged.
            await stack.aclose()

    async def _start(self) -> None:
        """
        Serve in a task of the server's own, so that the caller's cancel scopes are not affected.

        :raises ServerError: as :meth:`__aenter__`
        """
        if self._tasks is None:
            raise RuntimeError("the server does not run: start it with `async with`")
        life = _Life()
        await self._tasks.start(self._live, life, name="kinformer apiserver")
        self._life = life

    async def _live(self, life: _Life, *, task_status: TaskStatus[None]) -> None:
        try:
            with life.scope:
                async with AsyncExitStack() as stack:
                    await self._set_up(stack)
                    task_status.started()
                    await anyio.sleep_forever()
        finally:
            life.over.set()

    async def _set_up(self, stack: AsyncExitStack) -> None:
        self._load_data(stack)
        self._load_admission()
        if self.storage.is_new:
            self._create_system_objects()
        listener = self._listen(self._host, self._port)
        stack.callback(listener.close)
        self._port = listener.getsockname()[1]
        stack.push_async_callback(self._caller.close)
        handler = self._handler(self._advertise or f"{self._host}:{self._port}", self.watches, self.faults)
        await stack.enter_async_context(self._serving(handler, listener, self._ssl_context(), self.watches.end_all))
        loops = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(loops.cancel_scope.cancel)
        loops.start_soon(self._conversions.run, name="kinformer apiserver conversions")
        if self._loops:
            loops.start_soon(Loops(self.operations, self._loops).run, name="kinformer apiserver loops")
        if self._system_pods:
            await stack.enter_async_context(running_system_pods(self))
        if self._controllers:
            await stack.enter_async_context(running_controllers(self, self._controllers, {}))

    def _listen(self, host: str, port: int) -> socket.socket:
        """
        :raises ServerError: if the port is taken
        """
        return listen(host, port)

    def _serving(
        self,
        handler: RequestHandler,
        listener: socket.socket,
        tls: ssl.SSLContext | None,
        end_watches: Callable[[], None],
    ) -> AbstractAsyncContextManager[None]:
        """Answer requests while the block runs: see :func:`~kinformer.envtest.serving.serving`."""
        return serving(handler, listener, tls, end_watches)

    def _handler(self, address: str, watches: WatchSet, faults: Faults) -> RequestHandler:
        """Make the handler for requests to an address: the server's own, or a replica's."""
        return HttpHandler(
            self.operations,
            Discovery(self.registry, address, self._version),
            watches,
            self._users.authenticate,
            Authorizer(self.storage),
            faults,
            self._rng,
            self.webhooks,
            self._conversions,
            self.containers,
            self.writes,
        )

    @asynccontextmanager
    async def replica(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Replica]:
        """
        Run a second front of this server while the block runs::

            async with server.replica() as replica:
                replica.fall_behind(3)

        It works only while the server serves, and not after a restart, because it uses the server's storage. It has no
        TLS.

        :param port: the port to listen on; 0 for a free one
        :raises ServerError: if the port is taken
        """
        listener = self._listen(host, port)
        try:
            port = listener.getsockname()[1]
            replica = Replica(self.storage, self._new_watches(), self.clock, host, port, self.token)
            handler = self._handler(f"{host}:{port}", replica.watches, replica.faults)
            async with self._serving(handler, listener, None, replica.watches.end_all):
                yield replica
        finally:
            listener.close()

    @asynccontextmanager
    async def run_controllers(self, *names: str, **options: Any) -> AsyncIterator[Manager]:
        """
        Run installed controllers on this server while the block runs::

            async with server.run_controllers("deployment", "replicaset", concurrent_deployment_syncs=1):
                ...

        :param names: their names as installed, or kube-controller-manager's other names for the same controllers
        :param options: their options, with names in Python's spelling
        :raises ServerError: if no installed controller has a name; the message lists those that exist. Also if the
            server itself does the same work
        :raises OptionError: if no controller has an option, or its value has the wrong type
        """
        found = installed(names)
        check_not_doubled(found, self._loops)
        async with running_controllers(self, found, options) as manager:
            yield manager

    def _new_watches(self) -> WatchSet:
        return WatchSet()

    async def restart(self, *, keep_data: bool = True) -> None:
        """
        Stop serving and start again on the same port. Connections are lost, and versions go on counting.

        :param keep_data: keep everything that is stored. If False, it is gone, as if etcd had been deleted
        """
        life, self._life = self._life, None
        if life is not None:
            await life.end()
        if self._data is not None or not keep_data:
            # No version is used twice, even if the clock stands still.
            self._least_version = self.storage.version + 1
            self._build()
        if not keep_data:
            self._forget_data()
        await self._start()

    async def serve(self, kubeconfig_out: str | Path | None = None) -> None:
        """
        Serve until cancelled.

        :param kubeconfig_out: a file for the kubeconfig; it is complete when the server answers
        :raises ServerError: if the port is taken, or the data file cannot be used
        """
        async with self:
            if kubeconfig_out is not None:
                self.write_kubeconfig(kubeconfig_out)
            await anyio.sleep_forever()

    def _ssl_context(self) -> ssl.SSLContext | None:
        if not self._tls:
            return None
        kept = self._journal.authority if self._journal is not None else None
        try:
            if self.authority is None:
                self.authority = Authority(KeyPair(*kept) if kept is not None else None)
        except CertificatesUnavailable as error:
            raise ServerError(str(error)) from error
        if self._journal is not None and kept != (pair := self.authority.pair):
            self._journal.keep_authority(*pair)
        return self.authority.server_context((self._host, "localhost", "kubernetes.default.svc"))

    def _load_data(self, stack: AsyncExitStack) -> None:
        if self._data is None:
            return
        try:
            journal = Journal(self._data)
        except JournalError as error:
            raise ServerError(str(error)) from error
        self._journal = journal
        stack.callback(self.storage.close)
        self.storage.keep_in(journal)
        self._strategies.load()

    def _forget_data(self) -> None:
        if self._data is not None:
            Path(self._data).unlink(missing_ok=True)

    def _load_admission(self) -> None:
        if self.admission.plugins:
            return
        self.admission.policies.append(Policies(self.storage, self.registry))
        of_pods = (NamespaceLifecycle, LimitRanger, Priority, RuntimeClass)
        own = (*of_pods, DefaultClasses, TopologyLabels, ClaimResize, Escalation)
        self.admission.plugins.extend([plugin(self.storage) for plugin in own])
        self.admission.plugins.append(SigningRequests(self.clock))
        if self._use_plugins:
            context = AdmissionContext(StoredObjects(self.operations), self.clock)
            self.admission.plugins.extend(load_plugins(context))

    def _create_system_objects(self) -> None:
        namespaces = self.registry.find("", "v1", "namespaces")
        assert namespaces is not None
        for name in _SYSTEM_NAMESPACES:
            self.operations.create(namespaces, "", {"metadata": {"name": name}})
        priorities = self.registry.find("scheduling.k8s.io", "v1", "priorityclasses")
        assert priorities is not None
        for priority in SYSTEM_CLASSES:
            self.operations.create(priorities, "", {**priority, "metadata": {**priority["metadata"]}})


def _no_endpoints(namespace: str, name: str, port: int) -> tuple[str, int]:
    raise LookupError(f'no endpoints available for service "{name}"')
