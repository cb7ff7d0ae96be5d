"""Snapshots: caches that survive the end of a process, in a file that the next process begins with.

The next process has its caches in a fraction of a second, and watches from the versions in the file. So the server
sends what has changed, and no list. An informer lists all the same if the server has forgotten its version, or if the
file is damaged, of another cluster, of another version of the program, or made for other objects.

The caches of another cluster are not used: see :mod:`kinformer.informers.cluster`. If the file has versions that the
cluster has not reached, the cluster was restored from a backup. Then the caches are not used either.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import ObjectSendStream
from anyio.lowlevel import checkpoint

from kinformer.arguments import want, want_seconds
from kinformer.cache import SharedIndexInformer
from kinformer.cache.state import CacheState
from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.collector import LARGE, relax
from kinformer.informers.cluster import Cluster, ClusterFinder
from kinformer.informers.signatures import signature_of
from kinformer.informers.snapshot_file import Block, SnapshotFile, SnapshotUnusable, write_snapshot
from kinformer.logs import get_logger
from kinformer.meta import is_older
from kinformer.models import DECODE_ERRORS, compression_of, detacher_for, kept_form_of
from kinformer.tasks import plain_task_group

__all__ = ("Snapshot", "SnapshotKeeper")

T = TypeVar("T")

log = get_logger(__name__)

#: Number of objects of a block. A thread reads and checks one at a time: each costs it a turn of the event loop.
_BLOCK: Final = 3000
#: Number of objects of a slice of a block: for pods a millisecond's work of the event loop, or of the writing thread.
_SLICE: Final = 200
#: Seconds for which the writing thread sleeps between two slices.
_PAUSE: Final = 0.001
#: The least ratio of the time between two files to the CPU time that the first one took.
_SPARING: Final = 100.0
#: Seconds between two attempts to find an informer that stores no changes, and the number of attempts.
_LOOK_AGAIN: Final = 0.01
_LOOKS: Final = 100
#: Seconds for which the server may still be asked at the end which cluster it is of.
_LAST_ASK: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """
    How caches are kept in a file.

    :param path: the file. Its directory must exist. Give each process a file of its own
    :param interval: the least number of seconds between two files. A crash loses at most the changes since the last
        one. At the end of the factory, a file is written in any case
    :param secrets: keep informers of Secrets, too. The file is readable for its owner only, and not encrypted
    :raises ValueError: if the interval is not positive, or the path is empty
    :raises TypeError: if the path or the interval is of a wrong type
    """

    path: str | os.PathLike[str]
    interval: float = 60.0
    secrets: bool = False

    def __post_init__(self) -> None:
        want(self.path, isinstance(self.path, str | os.PathLike), "the path of a snapshot", "the name of a file")
        want_seconds(self.interval, "the interval of a snapshot")
        if not os.fspath(self.path):
            raise ValueError("the path of a snapshot is empty: want the name of a file")
        if not self.interval > 0:
            raise ValueError(f"the interval of snapshot {os.fspath(self.path)} is {self.interval}: want seconds")


class _Kept(msgspec.Struct):
    """
    One informer's cache.

    :param signature: what the objects depend on, by what it is called in the log
    :param dictionaries: those that parts of the objects may be compressed with
    """

    signature: dict[str, str]
    versions: dict[str, str]
    blocks: list[Block]
    dictionaries: list[Block]


class _Index(msgspec.Struct):
    cluster: Cluster
    informers: dict[str, _Kept]


class SnapshotKeeper:
    """
    Writes the caches of a factory's informers to a file, and gives them to the informers of the next process.

    :param client: says which cluster it is
    """

    def __init__(self, options: Snapshot, client: Client, clock: Clock):
        self._options = options
        self._path = Path(options.path)
        self._clock = clock
        self._cluster = ClusterFinder(client, clock)
        self._file: SnapshotFile[_Index] | None = None
        self._opening = anyio.Lock()
        self._opened = False
        self._writing = anyio.Lock()
        #: What the last file has.
        self._written: dict[str, dict[str, str]] = {}
        #: Set at the end: then the writing thread makes no pauses for the event loop.
        self._in_hurry = threading.Event()

    # --- at the start

    async def state_for(self, informer: SharedIndexInformer[Any]) -> CacheState[Any] | None:
        """The state that an informer can begin with; None if it has to list. The log has one line that says why."""
        async with self._opening:
            if not self._opened:
                await self._open()
                self._opened = True
        signature = self._signature(informer)
        if signature is None:
            reason = "Secrets are not kept" if _is_of_secrets(informer) else "its transform depends on more than code"
            log.info("informer_not_in_snapshot", informer=informer.name, reason=reason)
        if self._file is None or signature is None:
            return None
        kept = self._file.index.informers.get(_name_of(informer))
        try:
            if kept is None:
                raise SnapshotUnusable("it does not have this informer")
            self._check(kept, signature)
            started = self._clock.monotonic()
            state = await self._read(self._file, kept, informer)
        except SnapshotUnusable as error:
            log.info("snapshot_not_used", path=str(self._path), informer=informer.name, reason=str(error))
            return None
        seconds = round(self._clock.monotonic() - started, 3)
        count = sum(block.count for block in kept.blocks)
        log.info("snapshot_used", informer=informer.name, objects=count, versions=kept.versions, seconds=seconds)
        return state

    async def _open(self) -> None:
        """Open the file, and find out whether it is of this cluster."""
        try:
            file = await anyio.to_thread.run_sync(SnapshotFile, self._path, _Index)
        except FileNotFoundError:
            log.debug("snapshot_not_used", path=str(self._path), reason="there is none yet")
            return
        except SnapshotUnusable as error:
            log.warning("snapshot_not_used", path=str(self._path), reason=str(error))
            return
        here, there = await self._cluster.find(), file.index.cluster
        if here != there or not here.is_known:
            reason = "it is of another cluster" if here != there else "it cannot be told which cluster this is"
            log.warning("snapshot_not_used", path=str(self._path), reason=reason)
            return
        self._file = file

    def _check(self, kept: _Kept, signature: dict[str, str]) -> None:
        if differences := [what for what in signature if kept.signature.get(what) != signature[what]]:
            raise SnapshotUnusable(f"it was made with another {differences[0]}")
        newest = self._cluster.newest
        for namespace_version in kept.versions.values():
            if is_older(newest, namespace_version):
                raise SnapshotUnusable(f"version {namespace_version} is newer than the cluster's, {newest}")

    async def _read(self, file: SnapshotFile[_Index], kept: _Kept, informer: SharedIndexInformer[T]) -> CacheState[T]:
        """
        Read an informer's objects, and decode each block while the next ones are read.

        :raises SnapshotUnusable: if they are damaged
        """
        await self._adopt(file, kept, informer)
        form = kept_form_of(informer.type)
        options = informer.options
        complete = detacher_for(informer.type, keep_managed_fields=options.keep_managed_fields, eager=True)
        send, receive = anyio.create_memory_object_stream[memoryview](2)
        parts: list[Any] = []
        if options.relax_collector and sum(block.count for block in kept.blocks) >= LARGE:
            relax()
        async with receive, plain_task_group() as tasks:
            tasks.start_soon(_prefetch, file, kept.blocks, send)
            async for block in receive:
                pieces = _pieces(block)
                for keys, encoded in zip(pieces, pieces, strict=True):
                    try:
                        objects = form.decode(encoded)
                        if options.eager:
                            for obj in objects:
                                complete(obj)
                        parts.append(dict(zip(_decode_keys(keys), objects, strict=True)))
                    except DECODE_ERRORS as error:
                        raise SnapshotUnusable(f"it does not decode: {error}") from None
                    await checkpoint()
        return CacheState(parts, kept.versions, form.settle)

    async def _adopt(self, file: SnapshotFile[_Index], kept: _Kept, informer: SharedIndexInformer[Any]) -> None:
        """
        Take over the dictionaries that parts of the objects are compressed with.

        :raises SnapshotUnusable: if they are damaged, or the package that compresses is not installed
        """
        for block in kept.dictionaries:
            content = bytes(await anyio.to_thread.run_sync(file.read, block))
            try:
                compression_of(informer.type).adopt(content)
            except (ImportError, ValueError) as error:
                raise SnapshotUnusable(f"its parts are compressed: {error}") from None

    # --- while it runs, and at the end

    async def run(self, informers: Callable[[], Iterable[SharedIndexInformer[Any]]]) -> None:
        """Write the file now and then, until cancelled."""
        await self._cluster.find()
        pause = self._options.interval
        while True:
            await self._clock.sleep(pause)
            cpu = await self._write(await self._states(informers()))
            pause = max(self._options.interval, _SPARING * cpu)

    async def finish(self, informers: Iterable[SharedIndexInformer[Any]]) -> None:
        """Write the file for the last time. A cancellation has to wait for it."""
        self._in_hurry.set()
        with anyio.CancelScope(shield=True):
            states = await self._states(informers)
            with anyio.move_on_after(_LAST_ASK):
                await self._cluster.find()
            if self._cluster.found is not None:
                await self._write(states)

    async def _states(
        self, informers: Iterable[SharedIndexInformer[Any]]
    ) -> dict[SharedIndexInformer[Any], CacheState[Any]]:
        """The states of the informers that have synced. While one stores changes, look again, for a second at most."""
        every = [informer for informer in informers if informer.has_synced and not informer.is_stopped]
        states: dict[SharedIndexInformer[Any], CacheState[Any]] = {}
        for _ in range(_LOOKS):
            states |= {it: state for it in every if it not in states and (state := it.state()) is not None}
            if len(states) == len(every):
                break
            await self._clock.sleep(_LOOK_AGAIN)
        return states

    async def _write(self, states: dict[SharedIndexInformer[Any], CacheState[Any]]) -> float:
        """Write what has changed, and return the seconds of CPU time that it took."""
        signed = [
            (informer, state, signature)
            for informer, state in states.items()
            if (signature := self._signature(informer)) is not None
        ]
        versions = {_name_of(informer): dict(state.versions) for informer, state, _ in signed}
        if not versions or versions == self._written:
            return 0.0
        cluster = await self._cluster.find()
        if not cluster.is_known:
            return 0.0

        def write() -> float:
            began = time.thread_time()
            write_snapshot(self._path, lambda add: _Index(cluster, self._add_all(signed, add)))
            return time.thread_time() - began

        async with self._writing:
            try:
                cpu = await anyio.to_thread.run_sync(write)
            except (OSError, *DECODE_ERRORS) as error:
                log.warning("snapshot_not_written", path=str(self._path), error=str(error))
                return 0.0
        self._written = versions
        self._file = None  # the informers that wanted it have it
        log.debug("snapshot_written", path=str(self._path), versions=versions, cpu_seconds=round(cpu, 3))
        return cpu

    def _add_all(
        self,
        signed: Iterable[tuple[SharedIndexInformer[Any], CacheState[Any], dict[str, str]]],
        add: Callable[[bytes, int], Block],
    ) -> dict[str, _Kept]:
        """Write the blocks of informers. This runs in a thread."""
        kept = {}
        for informer, state, signature in signed:
            try:
                blocks = [add(*block) for block in self._blocks(informer, state)]
                # Afterwards: a part may be compressed, with a new dictionary, until it is written.
                dictionaries = [add(it.content, 0) for it in compression_of(informer.type).dictionaries]
            except (TypeError, *DECODE_ERRORS) as error:
                log.warning("informer_not_in_snapshot", informer=informer.name, error=str(error))
            else:
                kept[_name_of(informer)] = _Kept(signature, dict(state.versions), blocks, dictionaries)
        return kept

    def _blocks(self, informer: SharedIndexInformer[Any], state: CacheState[Any]) -> Iterator[tuple[bytes, int]]:
        encode = kept_form_of(informer.type).encode
        for part in state.parts:
            items = iter(part.items())
            while block := tuple(islice(items, _BLOCK)):
                pieces = []
                for at in range(0, len(block), _SLICE):
                    self._spare()
                    keys, objects = zip(*block[at : at + _SLICE], strict=True)
                    pieces += [_encode_keys(keys), encode(objects)]
                yield _framed(pieces), len(block)

    def _spare(self) -> None:
        """Let the event loop go on: a thread that computes keeps it waiting for 5 ms each time."""
        if not self._in_hurry.is_set():
            time.sleep(_PAUSE)

    def _signature(self, informer: SharedIndexInformer[Any]) -> dict[str, str] | None:
        """What the objects of a cache depend on; None if they are not to be kept."""
        return signature_of(informer) if self._options.secrets or not _is_of_secrets(informer) else None


_decode_keys: Final = msgspec.msgpack.Decoder(list[str]).decode
_encode_keys: Final = msgspec.msgpack.Encoder().encode


def _framed(pieces: Iterable[bytes]) -> bytes:
    """Pieces in a row, each after its length."""
    return b"".join(part for piece in pieces for part in (len(piece).to_bytes(4, "big"), piece))


def _pieces(data: memoryview) -> Iterator[memoryview]:
    at = 0
    while at < len(data):
        begins = at + 4
        at = begins + int.from_bytes(data[at:begins], "big")
        yield data[begins:at]


async def _prefetch(file: SnapshotFile[Any], blocks: Iterable[Block], send: ObjectSendStream[memoryview]) -> None:
    async with send:
        for block in blocks:
            await send.send(await anyio.to_thread.run_sync(file.read, block))


def _is_of_secrets(informer: SharedIndexInformer[Any]) -> bool:
    return informer.resource is not None and informer.resource.resource == "secrets"


def _name_of(informer: SharedIndexInformer[Any]) -> str:
    return f"{informer.resource} {informer.name}"
