"""Mirrors: the histories of custom resources at versions other than the storage version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import anyio
import msgspec

from kinformer.envtest import status
from kinformer.envtest.apply import Managed
from kinformer.envtest.conversion.review import ConversionFailed, make_review, read_review
from kinformer.envtest.custom import Definitions
from kinformer.envtest.custom.structural import drop_nulls, fill_defaults, prune
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Change, Expired, ResourceLog, Storage, Version
from kinformer.envtest.storage.history import ADDED, DELETED
from kinformer.envtest.webhooks.calling import Caller
from kinformer.envtest.webhooks.review import CallFailed
from kinformer.envtest.webhooks.session import WebhooksPending
from kinformer.logs import get_logger
from kinformer.meta.names import GroupResource, GroupVersionKind

__all__ = ("Conversions", "VersionMirror")

log = get_logger(__name__)

Obj = dict[str, Any]

_BATCH = 500
_TIMEOUT = 30
_MOST_RESULTS = 1000
_IN_METADATA = ("metadata",)

_encode = msgspec.json.Encoder().encode


class VersionMirror:
    """
    A custom resource at one version.

    :ivar resource: the resource at this version
    :ivar log: its history. It has the resource versions of the storage, and may be a little behind
    """

    def __init__(self, owner: Conversions, source: Resource):
        self._owner = owner
        self._storage = owner.storage
        self.primary = source.storage
        self.log = ResourceLog()
        self._position: int | None = None
        self._lock = anyio.Lock()
        self._results: dict[bytes, Obj] = {}
        self.follow(source)

    def follow(self, source: Resource) -> None:
        """Use a changed definition."""
        self.source = source
        self.resource = replace(source)
        place = GroupResource(source.group, f"{source.plural}@{source.version}")
        object.__setattr__(self.resource, "storage", place)
        self._results.clear()

    @property
    def is_current(self) -> bool:
        return self._position == self._storage.log(self.primary).end

    # -- from the storage -------------------------------------------------------------------------------------------

    async def catch_up(self) -> None:
        """
        Take over all changes in the storage.

        :raises StatusError: if an object cannot be converted
        """
        async with self._lock:
            primary = self._storage.log(self.primary)
            while self._position != primary.end:
                if self._position is None:
                    await self._begin(primary)
                    continue
                try:
                    changes = primary.since(self._position, _BATCH)
                except Expired:
                    self._position = None
                    continue
                await self._take(changes)
                self._position += len(changes)
            self.log.wake()

    async def _begin(self, primary: ResourceLog) -> None:
        """Begin the history: with the first change if the storage has all changes, else with the current objects."""
        self.log = log = ResourceLog()
        known = sum((change.type == ADDED) - (change.type == DELETED) for change in primary.changes)
        if not primary.offset and known == len(primary.objects):
            log.forgotten, self._position = primary.forgotten, 0
            return
        objects, end = list(primary.select("")), primary.end
        log.forgotten = self._storage.version
        for version in await self._converted(objects):
            log.restore(version)
        self._position = end

    async def _take(self, changes: Sequence[Change]) -> None:
        gone = {id(change) for change in changes if change.type == DELETED and change.now.key in self.log.objects}
        versions = await self._converted([change.now for change in changes if id(change) not in gone])
        coming = iter(versions)
        for change in changes:
            before = self.log.objects.get(change.now.key)
            if id(change) in gone and before is not None:
                obj = before.decode()
                obj["metadata"]["resourceVersion"] = str(change.number)
                now = Version.of(change.now.key, change.number, obj, before.managed)
            elif id(change) in gone:
                continue
            else:
                now = next(coming)
            if change.type != DELETED or before is not None:
                self.log.append(Change(change.type, change.number, now, before))

    async def _converted(self, versions: Sequence[Version]) -> list[Version]:
        """Convert stored objects to this version. The order stays the same."""
        objects: list[Obj] = []
        for version in versions:
            name = self._owner.definitions.stored_as(self.primary, version.number) or self.source.version
            objects.append(self._of_kind(version.decode_whole(), name))
        done = await self._convert(objects, self.source.version)
        result = []
        for version, obj in zip(versions, done, strict=True):
            prune(obj, self.source.schema, "", [], _IN_METADATA)
            drop_nulls(obj, self.source.schema)
            fill_defaults(obj, self.source.schema)
            result.append(Version(version.key, version.number, _encode(obj)))
        return result

    def _of_kind(self, obj: Obj, version: str) -> Obj:
        kind = GroupVersionKind(self.source.group, version, self.source.kind)
        return {"kind": kind.kind, "apiVersion": kind.api_version, **obj}

    async def convert(self, obj: Obj, version: str) -> Obj:
        """
        An object of another version at this one, without kind and apiVersion.

        :param version: the version of the object
        :raises StatusError: if it cannot be converted
        """
        [converted] = await self._convert([self._of_kind(obj, version)], self.source.version)
        return converted

    async def _convert(self, objects: Sequence[Obj], version: str) -> list[Obj]:
        """
        :return: the objects at that version, without kind and apiVersion
        :raises StatusError: if one cannot be converted
        """
        wanted = GroupVersionKind(self.source.group, version, self.source.kind)
        others = [obj for obj in objects if obj["apiVersion"] != wanted.api_version]
        try:
            converted = iter(await self._owner.call(self.source, others, wanted) if others else ())
        except ConversionFailed as error:
            raise status.internal(str(error)) from None
        done = [obj if obj["apiVersion"] == wanted.api_version else next(converted) for obj in objects]
        return [{key: value for key, value in obj.items() if key not in ("kind", "apiVersion")} for obj in done]

    # -- into the storage -------------------------------------------------------------------------------------------

    def write(self, type_: str, key: str, obj: Obj, before: Version | None, managed: Managed | None) -> Version:
        """
        Store an object of this version, in the form in which the resource is stored.

        :raises WebhooksPending: if the object must be converted first, or the mirror is behind
        """
        storage, primary = self._storage, self._storage.log(self.primary)
        if not self.is_current:
            raise WebhooksPending(self.catch_up)
        namespace, _, name = key.rpartition("/")
        stored = primary.objects.get(key)
        if type_ == DELETED:
            assert stored is not None
            version = storage.delete(self.primary, stored)
        else:
            target = self._owner.definitions.stored_as(self.primary, storage.version + 1) or self.source.version
            form = self._form(obj, target)
            if type_ == ADDED:
                version = storage.create(self.primary, namespace, name, form, managed)
            else:
                assert stored is not None
                version = storage.update(self.primary, stored, form, managed=managed)
        obj["metadata"]["resourceVersion"] = str(version.number)
        now = Version.of(key, version.number, obj, managed)
        if version is not stored:
            self.log.append(Change(type_, version.number, now, before))
            self._position = primary.end
            self.log.wake()
        return now

    def _form(self, obj: Obj, version: str) -> Obj:
        """
        The object at the storage version.

        :raises WebhooksPending: if the webhook must convert it first
        """
        if version == self.source.version:
            return obj
        text = _encode({**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}})
        if text not in self._results:
            raise WebhooksPending(lambda: self._ask(text, obj, version))
        # The metadata is up to date: at most the resource version has changed since the conversion.
        return self._results.pop(text)

    async def _ask(self, text: bytes, obj: Obj, version: str) -> None:
        [converted] = await self._convert([self._of_kind(obj, self.source.version)], version)
        if len(self._results) >= _MOST_RESULTS:
            self._results.clear()
        self._results[text] = converted


class Conversions:
    """The mirrors of one server."""

    def __init__(self, storage: Storage, definitions: Definitions, caller: Caller, new_uid: Callable[[], str]):
        self.storage = storage
        self.definitions = definitions
        self._caller = caller
        self._new_uid = new_uid
        self._news = anyio.Event()
        storage.listeners.append(self._note)

    def mirror_of(self, resource: Resource) -> VersionMirror | None:
        """The mirror of a resource at its version. None if its objects need no conversion by a webhook."""
        definition = resource.definition
        if definition is None or not definition.get("several"):
            return None
        if (definition.get("conversion") or {}).get("strategy") != "Webhook":
            return None
        place = GroupResource(resource.group, f"{resource.plural}@{resource.version}")
        mirror = self.storage.mirrors.get(place)
        if not isinstance(mirror, VersionMirror):
            self.storage.mirrors[place] = mirror = VersionMirror(self, resource)
        elif mirror.source is not resource:
            mirror.follow(resource)
        return mirror

    async def convert(self, obj: Obj, source: Resource, target: Resource) -> Obj:
        """
        An object at another version of its kind, without kind and apiVersion.

        :param source: the resource at the version of the object
        :raises StatusError: if it cannot be converted
        """
        mirror = self.mirror_of(target) if source.version != target.version else None
        return obj if mirror is None else await mirror.convert(obj, source.version)

    async def call(self, resource: Resource, objects: Sequence[Obj], wanted: GroupVersionKind) -> list[Obj]:
        """
        Have the webhook convert objects.

        :raises ConversionFailed: if the call fails, or the response is invalid
        """
        webhook = ((resource.definition or {}).get("conversion") or {}).get("webhook") or {}
        versions, uid = webhook.get("conversionReviewVersions") or (), self._new_uid()
        body = make_review(versions, uid, objects, wanted.api_version)
        try:
            answer = await self._caller.post(webhook.get("clientConfig") or {}, _TIMEOUT, body)
        except CallFailed as error:
            shown = f"{resource.group}/{objects[0]['apiVersion'].rpartition('/')[2]}, Kind={resource.kind}"
            why = str(error).removeprefix("failed to call webhook: ")
            raise ConversionFailed(f"conversion webhook for {shown} failed: {why}") from None
        return read_review(versions, uid, answer, objects, wanted)

    # -- watches ----------------------------------------------------------------------------------------------------

    def _note(self, resource: GroupResource, change: Change) -> None:
        if any(mirror.log.waiting for mirror in self.storage.mirrors.values()):
            self._news.set()

    async def run(self) -> None:
        """Keep the mirrors that are watched up to date, until cancelled."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            for mirror in list(self.storage.mirrors.values()):
                if isinstance(mirror, VersionMirror) and mirror.log.waiting and not mirror.is_current:
                    try:
                        await mirror.catch_up()
                    except status.StatusError as error:
                        # The conversion is tried again at the next change, so watches get this change late.
                        log.warning("conversion_failed", resource=str(mirror.primary), error=error.message)
