"""Copies ConfigMaps into other namespaces, and keeps the copies as the original is.

A ConfigMap that is annotated ``example.com/copy-to: team-a,team-b``, or ``"*"`` for all namespaces, is copied there. A
copy is annotated ``example.com/copied-from: namespace/name``. That is how copies are found when the original changes,
when a namespace is taken off the list, and when the original is gone: an owner reference cannot name an object of
another namespace.
"""

from __future__ import annotations

from contextlib import suppress

from kinformer.client import DeleteOptions, NotFound, Preconditions
from kinformer.manager import Controller, ControllerContext
from kinformer.meta import split_key
from kinformer.models import V1ConfigMap, V1Namespace, V1ObjectMeta
from kinformer.operator import Applier
from kinformer.record import WARNING

COPY_TO = "example.com/copy-to"
COPIED_FROM = "example.com/copied-from"


def annotation(obj: V1ConfigMap, name: str) -> str:
    return (obj.metadata.annotations or {}).get(name, "")


def original_of(obj: V1ConfigMap) -> list[str]:
    """The key of what this is a copy of: the values of an index."""
    return [original] if (original := annotation(obj, COPIED_FROM)) else []


def targets_of(source: V1ConfigMap | None, namespaces: list[V1Namespace]) -> set[str]:
    """The namespaces in which a ConfigMap is to have a copy. One that is being deleted takes no new objects."""
    if source is None or source.metadata.deletion_timestamp:
        return set()
    asked = {name.strip() for name in annotation(source, COPY_TO).split(",")}
    alive = {found.metadata.name for found in namespaces if not found.metadata.deletion_timestamp}
    return (alive if "*" in asked else alive & asked) - {source.metadata.namespace}


def copy_of(source: V1ConfigMap, namespace: str) -> V1ConfigMap:
    metadata = V1ObjectMeta(
        name=source.metadata.name,
        namespace=namespace,
        labels=source.metadata.labels,
        annotations={COPIED_FROM: f"{source.metadata.namespace}/{source.metadata.name}"},
    )
    return V1ConfigMap(metadata=metadata, data=source.data, binary_data=source.binary_data)


def make_controller(context: ControllerContext) -> Controller:
    configmaps = context.informers.informer_for(V1ConfigMap, indexers={"original": original_of})
    namespaces = context.informers.informer_for(V1Namespace)
    client = context.client.resource(V1ConfigMap)
    applier = Applier(context.client, "configmap-copier", context.informers)
    recorder = context.recorder("configmap-copier")

    async def sync(key: str) -> None:
        source = configmaps.indexer.get_by_key(key)
        targets = targets_of(source, namespaces.indexer.list())
        for copy in configmaps.indexer.by_index("original", key):
            if copy.metadata.namespace not in targets:
                await delete(copy)
        if source is None:
            return
        name = split_key(key).name
        for target in sorted(targets):
            there = configmaps.indexer.get_by_key(f"{target}/{name}")
            if there is not None and annotation(there, COPIED_FROM) != key:
                recorder.event(source, WARNING, "NotCopied", f"{target} has a ConfigMap of that name, which is no copy")
                continue
            await applier.apply(copy_of(source, target))

    async def delete(copy: V1ConfigMap) -> None:
        # The uid sees to it that nothing else is deleted that has been given the name meanwhile.
        options = DeleteOptions(preconditions=Preconditions(uid=copy.metadata.uid))
        with suppress(NotFound):
            await client.delete(copy.metadata.name, copy.metadata.namespace, options)

    def originals(_: V1Namespace) -> list[str]:
        """A namespace that comes or goes has all originals looked at."""
        return [
            f"{found.metadata.namespace}/{found.metadata.name}"
            for found in configmaps.indexer.list()
            if annotation(found, COPY_TO)
        ]

    def is_original(old: V1ConfigMap | None, new: V1ConfigMap | None) -> bool:
        return any(annotation(found, COPY_TO) for found in (old, new) if found is not None)

    return (
        Controller("configmap-copier", sync, clock=context.clock)
        .watch(configmaps, is_original)
        .watch_mapped(configmaps, original_of)
        .watch_mapped(namespaces, originals)
    )
