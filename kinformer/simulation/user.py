"""The user of a world: creates, changes and reads objects, as with kubectl. No faults happen to the user's requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import yaml

from kinformer.client import AlreadyExists, Client, ClientOptions, PatchType, Resource, endpoint_from_url
from kinformer.client.transport import Transport
from kinformer.clock import Clock
from kinformer.envtest import ApiServer
from kinformer.manager import ControllerFactory, known_controllers
from kinformer.meta import GroupVersion
from kinformer.models import resource_for, to_dict
from kinformer.spec import ControllerSpec

__all__ = ("User", "controllers_of", "manifests_of")

T = TypeVar("T")


class User:
    """The requests of a scenario."""

    def __init__(self, server: ApiServer, clock: Clock) -> None:
        self.server = server
        self._clock = clock

    @cached_property
    def transport(self) -> Transport:
        """The connection. It is made at first use, when the server has its port."""
        return self._connect_user()

    def _connect_user(self) -> Transport:
        endpoint = endpoint_from_url(self.server.url, token=self.server.token)
        return Transport(endpoint, ClientOptions(user_agent="user"), clock=self._clock)

    @cached_property
    def client(self) -> Client:
        """A client for requests that have no method here."""
        return Client(self.transport)

    async def apply(self, *manifests: Any) -> None:
        """
        Create objects. If an object exists already, its manifest is merged into it.

        An object of a namespaced kind that names no namespace goes to ``default``, as with kubectl.

        :param manifests: dicts, models, YAML texts, or paths of files with YAML
        :raises LookupError: if the server does not serve a kind
        :raises ApiError: if the server refuses an object
        :raises ValueError: if something is not a manifest
        """
        for manifest in manifests_of(manifests):
            resource = self.resource_of(manifest)
            metadata = manifest["metadata"]
            namespace = metadata.get("namespace") or ("default" if resource.namespaced else "")
            try:
                await resource.create(manifest, namespace)
            except AlreadyExists:
                await resource.patch(metadata["name"], manifest, namespace, patch_type=PatchType.MERGE)

    async def patch(
        self,
        type_: type[T],
        name: str,
        body: Mapping[str, Any],
        namespace: str = "default",
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
    ) -> T:
        """
        Change an object; returns its new state.

        :raises NotFound: if there is no object with this name
        :raises ApiError: if the server refuses the change
        """
        resource = self.client.resource(type_)
        where = namespace if resource.namespaced else ""
        return await resource.patch(name, body, where, patch_type=patch_type, subresource=subresource)

    async def delete(self, type_: type[Any], name: str, namespace: str = "default") -> None:
        """
        Delete an object.

        :raises NotFound: if there is no object with this name
        """
        resource = self.client.resource(type_)
        await resource.delete(name, namespace if resource.namespaced else "")

    async def get(self, type_: type[T], name: str, namespace: str = "default") -> T:
        """
        Read an object.

        :raises NotFound: if there is no object with this name
        """
        resource = self.client.resource(type_)
        return await resource.get(name, namespace if resource.namespaced else "")

    async def list(self, type_: type[T], namespace: str = "", *, label_selector: str = "") -> list[T]:
        """
        List the objects of a type.

        :param namespace: only objects of this namespace; empty for all
        :param label_selector: only objects that this selector matches; empty for all
        """
        return (await self.client.resource(type_).list(namespace, label_selector=label_selector)).items

    def resource_of(self, manifest: Mapping[str, Any]) -> Resource[dict[str, Any]]:
        """
        The resource of a manifest's kind.

        :raises LookupError: if the server does not serve it
        """
        group, version = GroupVersion.parse(manifest["apiVersion"])
        found = self.server.registry.by_kind(group, version, manifest["kind"])
        if found is None:
            raise LookupError(f"the server does not serve {manifest['kind']} of {manifest['apiVersion']}")
        gvr = (found.group, found.version, found.plural)
        return self.client.resource(dict, gvr, namespaced=found.namespaced, kind=found.kind)


def manifests_of(given: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """
    Read manifests.

    :param given: dicts, models, YAML texts, and paths of YAML files
    :raises ValueError: if something has no apiVersion, no kind or no name
    :raises OSError: if a file cannot be read
    """
    for each in given:
        if isinstance(each, str) and "\n" not in each and each.endswith((".yaml", ".yml")):
            each = Path(each)
        if isinstance(each, Path):
            each = each.read_text(encoding="utf-8")
        if isinstance(each, str):
            yield from manifests_of(document for document in yaml.safe_load_all(each) if document)
            continue
        obj = each if isinstance(each, Mapping) else _manifest_of(each)
        kind = obj.get("kind") if isinstance(obj, Mapping) else None
        if kind == "List":
            yield from manifests_of(obj.get("items") or ())
            continue
        if not kind or not obj.get("apiVersion") or not (obj.get("metadata") or {}).get("name"):
            raise ValueError(f"a manifest needs apiVersion, kind and a name: {each!r}")
        yield dict(obj)


def _manifest_of(obj: Any) -> Any:
    """An object as a manifest. A known type names the kind if the object does not."""
    manifest = to_dict(obj)
    try:
        info = resource_for(type(obj))
    except LookupError:
        return manifest
    return {"apiVersion": info.api_version, "kind": info.kind, **manifest}


def controllers_of(
    given: ControllerFactory | str | Sequence[str] | Mapping[str, ControllerFactory],
) -> dict[str, ControllerFactory]:
    """
    The controllers for :meth:`World.manager`, by their names.

    :param given: a factory, names of installed controllers, ``package.module:factory``, or factories by name
    :raises LookupError: if no controller with a name is installed
    :raises ImportError: if a module cannot be imported
    :raises AttributeError: if a module has no such factory
    """
    if isinstance(given, str):
        return {_short(given): _factory(given)}
    if isinstance(given, Mapping):
        return dict(given)
    if callable(given):
        return {getattr(given, "__name__", "controller"): given}
    return {_short(name): _factory(name) for name in given}


def _short(name: str) -> str:
    return name.partition(":")[0].rpartition(".")[2] if ":" in name else name


@cache
def _factory(name: str) -> ControllerFactory:
    module, colon, attribute = name.partition(":")
    if colon:
        found = getattr(import_module(module), attribute)
    else:
        installed = known_controllers()
        if name not in installed:
            raise LookupError(f"there is no controller {name!r}: there are {', '.join(installed)}")
        found = installed[name].load()
    loaded: ControllerFactory = found.load() if isinstance(found, ControllerSpec) else found
    return loaded
