"""Sources of clusters: which clusters a :class:`~kinformer.manager.Fleet` works for, and how they are reached.

A source always passes on all of its clusters: first when it knows them, and again whenever one of them comes, goes, or
is reached in another way. If it cannot read them, it passes on nothing, and the fleet keeps the clusters that it has. A
cluster whose server cannot be reached is passed on like any other. Only its own part of the fleet fails then.

There are three: :class:`ClusterList`, :class:`KubeconfigContexts` and
:class:`~kinformer.manager.cluster_secrets.KubeconfigSecrets`. Another source is any object with the method of
:class:`ClusterSource`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import anyio

from kinformer.arguments import want_several
from kinformer.client import Client, ClientOptions, ConfigError, connect
from kinformer.client.kubeconfig import KubeconfigContext, default_kubeconfig, existing_files, read_contexts
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger

__all__ = ("Cluster", "ClusterList", "ClusterSource", "KubeconfigContexts", "Opener", "Show")

log = get_logger(__name__)

#: Seconds between two readings of a kubeconfig.
_READ_EVERY: Final = 60.0


class Opener(Protocol):
    """Makes a client of a cluster. ``functools.partial(connect, url=…, token=…)`` is one."""

    def __call__(self, *, options: ClientOptions, clock: Clock) -> AbstractAsyncContextManager[Client]: ...


@dataclass(frozen=True, slots=True)
class Cluster:
    """
    A cluster of a source.

    :param name: its name in logs, metrics and on the page. No other cluster of the source has it
    :param open: makes a client of it
    :param configuration: what `open` is made from. If it has changed, the cluster's part of the fleet is started again
    :raises ValueError: if the name is empty
    """

    name: str
    open: Opener = field(compare=False, repr=False)
    configuration: Any = field(default=None, repr=False)  # it may hold a token

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a cluster has no name")


#: Takes all clusters that there are now.
Show: TypeAlias = Callable[[Iterable[Cluster]], object]


class ClusterSource(Protocol):
    """Tells which clusters there are."""

    async def run(self, show: Show) -> None:
        """Call `show` with all clusters once they are known, and after each change, until cancelled."""


class ClusterList:
    """
    Clusters that a program names.

    :raises ValueError: if two of them have the same name
    """

    def __init__(self, clusters: Iterable[Cluster] = ()) -> None:
        self._clusters = _once_each(clusters)
        self._changed = anyio.Event()

    def replace(self, clusters: Iterable[Cluster]) -> None:
        """
        Replace all clusters by these.

        :raises ValueError: if two of them have the same name
        """
        self._clusters = _once_each(clusters)
        self._changed.set()

    async def run(self, show: Show) -> None:
        """See :meth:`ClusterSource.run`."""
        while True:
            self._changed = anyio.Event()
            show(self._clusters)
            await self._changed.wait()


class KubeconfigContexts:
    """
    The contexts of a kubeconfig, each of which is a cluster with the context's name.

    The files are read again each minute. If the cluster or the user of a context has changed, its part of the fleet is
    started again.

    :param path: the kubeconfig, or several, separated as in ``KUBECONFIG``; None: ``KUBECONFIG``, else
        ``~/.kube/config``
    :param contexts: the names of the contexts; empty: all of the kubeconfig, also those that are added later
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        contexts: Collection[str] = (),
        *,
        clock: Clock | None = None,
    ) -> None:
        self._path = os.fspath(path) if path is not None else default_kubeconfig()
        want_several(contexts, "contexts", "a list of names, as in contexts=['west']")
        self._contexts = tuple(dict.fromkeys(contexts))
        self._clock = clock or RealClock()

    async def run(self, show: Show) -> None:
        """
        See :meth:`ClusterSource.run`.

        :raises ConfigError: if the kubeconfig cannot be read the first time, or none of the named contexts is in it
        """
        last, found = self._texts(), self._found()
        wrong = [it for it in found.values() if isinstance(it, ConfigError)]
        if self._contexts and len(wrong) == len(found):  # a misspelt name would be tried for ever
            raise ConfigError(f"kubeconfig {self._path}: {wrong[0]}")
        show(self._clusters(found))
        while True:
            await self._clock.sleep(_READ_EVERY)
            try:
                # The YAML is parsed only after a change: this takes a second for a file of some thousand lines.
                if (texts := self._texts()) != last:
                    show(self._clusters(self._found()))
                    last = texts
            except ConfigError as error:
                log.error("clusters_not_read", error=str(error))

    def _texts(self) -> list[bytes]:
        try:
            texts = [file.read_bytes() for file in existing_files(self._path, pipes=False)]
        except OSError as error:
            raise ConfigError(f"kubeconfig {self._path}: {error.strerror or error}") from error
        if not texts:
            raise ConfigError(f"kubeconfig {self._path}: there is no such file")
        return texts

    def _found(self) -> dict[str, KubeconfigContext | ConfigError]:
        try:
            return read_contexts(existing_files(self._path, pipes=False), self._contexts)
        except ConfigError as error:
            raise ConfigError(f"kubeconfig {self._path}: {error}") from error

    def _clusters(self, found: Mapping[str, KubeconfigContext | ConfigError]) -> list[Cluster]:
        return [Cluster(name, partial(connect, self._path, name), _configuration(it)) for name, it in found.items()]


def _configuration(context: KubeconfigContext | ConfigError) -> Any:
    # The client of a context that is invalid raises the same error.
    return str(context) if isinstance(context, ConfigError) else (context.cluster, context.user)


def _once_each(clusters: Iterable[Cluster]) -> list[Cluster]:
    listed = list(clusters)
    names = [cluster.name for cluster in listed]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ValueError(f"two clusters have the name {twice}")
    return listed
