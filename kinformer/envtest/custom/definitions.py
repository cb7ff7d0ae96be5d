"""CustomResourceDefinitions: what one is, and how it becomes a resource that is served."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinformer.clock import Clock
from kinformer.envtest.custom.checks import check_definition, check_definition_update
from kinformer.envtest.registry import Registry, Resource, Subresource
from kinformer.envtest.registry.resources import CUSTOM_VERBS
from kinformer.envtest.registry.schema import zero_of
from kinformer.envtest.status import Cause
from kinformer.envtest.storage import Change, Storage, Version
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.meta.names import GroupResource, GroupVersionKind

__all__ = ("DefinitionStrategy", "Definitions")

_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_STATUS_VERBS = ("get", "patch", "update")
_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class Definitions:
    """
    The definitions that are stored, and their resources in the registry.

    A definition is served as soon as it is stored; what it takes in a real server (that its names are free, that all
    servers know it) is true at once here, and written into its status.
    """

    def __init__(self, storage: Storage, registry: Registry, clock: Clock):
        self._storage = storage
        self._registry = registry
        self._clock = clock
        self._served: dict[str, list[Resource]] = {}
        #: From which version of the storage on objects were stored at which version of theirs.
        self._stored_as: dict[GroupResource, list[tuple[int, str]]] = {}
        storage.listeners.append(self._follow)

    def load(self) -> None:
        """Serve what a storage that was read back holds."""
        for version in self._storage.log(_DEFINITIONS).select(""):
            self._serve(version.key, version.decode())

    def _follow(self, resource: GroupResource, change: Change) -> None:
        if resource == _DEFINITIONS:
            self._withdraw(change.now.key)
            if change.type != DELETED:
                self._serve(change.now.key, change.now.decode())
            else:
                self._forget(change.now.decode()["spec"])

    def _withdraw(self, key: str) -> None:
        for resource in self._served.pop(key, ()):
            self._registry.remove(resource.group, resource.version, resource.plural)

    def _serve(self, key: str, definition: Obj) -> None:
        self._served[key] = resources = list(_resources(definition["spec"]))
        for resource in resources:
            self._registry.add(resource)
        spec = definition["spec"]
        history = self._stored_as.setdefault(GroupResource(spec["group"], spec["names"]["plural"]), [])
        name = next((one["name"] for one in spec["versions"] if one.get("storage")), "")
        if not history or history[-1][1] != name:
            history.append((self._storage.version if history else 0, name))

    def _forget(self, spec: Obj) -> None:
        place = GroupResource(spec["group"], spec["names"]["plural"])
        self._stored_as.pop(place, None)
        for version in spec["versions"]:
            self._storage.mirrors.pop(GroupResource(spec["group"], f"{place.resource}@{version['name']}"), None)

    def stored_as(self, resource: GroupResource, number: int) -> str:
        """
        The version of its objects that one was stored at.

        What was stored before the server began is taken to be of the version that it found.

        :param number: when it was stored
        """
        names = [name for since, name in self._stored_as.get(resource, ()) if since < number]
        return names[-1] if names else ""

    def establish(self, version: Version) -> None:
        """Say in a new definition's status that it is served."""
        obj = version.decode()
        names = {key: value for key, value in obj["spec"]["names"].items() if value}
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        status = obj.setdefault("status", {})
        accepted = status.get("acceptedNames") or {}
        if accepted == names:
            return
        status["acceptedNames"] = names
        status["conditions"] = [
            _condition("NamesAccepted", now, "NoConflicts", "no conflicts found"),
            _condition("Established", now, "InitialNamesAccepted", "the initial names have been accepted"),
        ]
        self._storage.update(_DEFINITIONS, version, obj)

    def objects(self, definition: Obj) -> list[Version]:
        spec = definition["spec"]
        return list(self._storage.log(GroupResource(spec["group"], spec["names"]["plural"])).select(""))

    def delete_objects(self, definition: Obj, now: str) -> bool:
        """
        Delete a definition's objects.

        :return: whether none is left; finalizers may hold some
        """
        spec = definition["spec"]
        storage = GroupResource(spec["group"], spec["names"]["plural"])
        left = False
        for version in self.objects(definition):
            obj = version.decode()
            if not obj["metadata"].get("finalizers"):
                self._storage.delete(storage, version)
                continue
            left = True
            if "deletionTimestamp" not in obj["metadata"]:
                obj["metadata"] |= {"deletionTimestamp": now, "deletionGracePeriodSeconds": 0}
                self._storage.update(storage, version, obj)
        return not left


def _condition(type_: str, now: str, reason: str, message: str) -> Obj:
    return {"type": type_, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}


def _resources(spec: Obj) -> Iterator[Resource]:
    names = spec["names"]
    for version in spec.get("versions") or ():
        if not version.get("served"):
            continue
        own = GroupVersionKind(spec["group"], version["name"], names["kind"])
        subresources = {}
        parts: dict[str, Any] = version.get("subresources") or {}
        if parts.get("status") is not None:
            subresources["status"] = Subresource("status", own, False, _STATUS_VERBS)
        if parts.get("scale") is not None:
            scale = GroupVersionKind("autoscaling", "v1", "Scale")
            subresources["scale"] = Subresource("scale", scale, True, _STATUS_VERBS)
        yield Resource(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec.get("scope") == "Namespaced",
            singular=names.get("singular") or names["kind"].lower(),
            list_kind=names.get("listKind") or f"{names['kind']}List",
            verbs=CUSTOM_VERBS,
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=subresources,
            definition={
                **version,
                "scale": parts.get("scale"),
                "conversion": spec.get("conversion"),
                "several": len(spec["versions"]) > 1,
            },
        )


class DefinitionStrategy(Strategy):
    """A definition; its objects go before it does."""

    has_generation = True
    allow_unconditional_update = False

    def __init__(self, resource: Resource, definitions: Definitions):
        super().__init__(resource)
        self._definitions = definitions

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        names = spec.setdefault("names", {})
        if kind := names.get("kind"):
            names.setdefault("singular", kind.lower())
            names.setdefault("listKind", f"{kind}List")
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        client = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
        if client.get("service") is not None and not client["service"].get("port"):
            client["service"]["port"] = 443

    def initial_status(self, obj: Obj) -> Obj:
        return {**zero_of(self.resource).get("status", {}), "storedVersions": _storage_versions(obj)[:1]}

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        # Objects are stored at the new version from now on, and some are still at the old ones.
        stored = [*((old.get("status") or {}).get("storedVersions") or ())]
        new = [name for name in _storage_versions(obj)[:1] if name not in stored]
        if new:
            obj["status"] = {**(obj.get("status") or {}), "storedVersions": [*stored, *new]}

    def stored(self, version: Version) -> None:
        self._definitions.establish(version)

    def begin_delete(self, obj: Obj, now: str) -> bool:
        if self._definitions.delete_objects(obj, now):
            return False
        metadata = obj["metadata"]
        metadata["deletionTimestamp"] = now
        metadata["finalizers"] = sorted({*(metadata.get("finalizers") or ()), _CLEANUP})
        return True

    def validate(self, obj: Obj) -> list[Cause]:
        return list(check_definition(obj))

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return list(check_definition_update(obj, old))


def _storage_versions(obj: Obj) -> list[str]:
    return [one["name"] for one in obj["spec"].get("versions") or () if one.get("storage")]
