"""Discovery: the resources that a server serves (client-go's discovery client and RESTMapper).

The server is asked when the answer is first needed, and the answer is kept. If something is not found in it, the server
is asked again: a CustomResourceDefinition may have been created since. Servers since 1.26 answer in two responses
(aggregated discovery). Older servers are asked for each group. If a group's own server is down, the group is left out
and logged, so that the others can be used. :meth:`Discovery.served` also says what is missing.

As in client-go, a kind is also found by its name in lower case: ``deployment`` in a reference means ``Deployment``.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import anyio
import msgspec

from kinformer.client.errors import ApiError, DecodeError, NoKindMatch, NotFound
from kinformer.logs import get_logger
from kinformer.meta import GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource
from kinformer.models import decode

__all__ = ("ApiResource", "Discovery", "Served", "ServerVersion")

log = get_logger(__name__)

T = TypeVar("T")

_AGGREGATED: Final = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)


#: Distributions write ``34+`` for a minor version.
_LEADING_DIGITS: Final = re.compile("[0-9]+").match


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The server's version, as it gives it at ``/version``."""

    major: str = ""
    minor: str = ""
    git_version: str = ""
    git_commit: str = ""
    build_date: str = ""
    platform: str = ""

    def is_at_least(self, major: int, minor: int) -> bool:
        """Whether this is that version of Kubernetes or a later one. False if its numbers cannot be read."""
        found = [_LEADING_DIGITS(part) for part in (self.major, self.minor)]
        return None not in found and [int(it[0]) for it in found if it] >= [major, minor]


class ApiResource(msgspec.Struct, frozen=True):
    """
    One resource as the server serves it.

    :param subresources: such as ``status`` and ``scale``
    """

    gvr: GroupVersionResource
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.gvr.group, self.gvr.version, self.kind)

    def is_of_kind(self, name: str) -> bool:
        """Whether its kind has this name, which may be in lower case."""
        return name in (self.kind, self.kind.lower())


class Served(NamedTuple):
    """
    The resources of a server, and the groups that are missing.

    :param resources: each group's preferred version first
    :param failed: the versions of groups whose own server did not answer, with the reason; their resources are left out
    """

    resources: list[ApiResource]
    failed: Mapping[GroupVersion, str]


class _Wire(msgspec.Struct, rename="camel"):
    """Base class of the responses that are decoded here."""


class _Versions(_Wire):
    kind: str = ""
    versions: list[str] = []


class _GroupVersionEntry(_Wire):
    group_version: str = ""
    version: str = ""


class _Group(_Wire):
    name: str = ""
    versions: list[_GroupVersionEntry] = []
    preferred_version: _GroupVersionEntry | None = None


class _GroupList(_Wire):
    kind: str = ""
    groups: list[_Group] = []


class _Resource(_Wire):
    name: str
    kind: str = ""
    namespaced: bool = False
    singular_name: str = ""
    group: str = ""
    version: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _ResourceList(_Wire):
    resources: list[_Resource] | None = None


class _ResponseKind(_Wire):
    kind: str = ""


class _AggregatedSubresource(_Wire):
    subresource: str


class _AggregatedResource(_Wire):
    resource: str
    response_kind: _ResponseKind | None = None
    scope: str = ""
    singular_resource: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_AggregatedSubresource] | None = None


class _AggregatedVersion(_Wire):
    version: str
    resources: list[_AggregatedResource] | None = None
    freshness: str = ""

    @property
    def is_stale(self) -> bool:
        """Whether the group's own server did not answer. The resources are those of its last answer then."""
        return self.freshness == "Stale"


class _AggregatedGroup(_Wire):
    metadata: dict[str, Any] = {}
    versions: list[_AggregatedVersion] = []


class _AggregatedList(_Wire):
    kind: str = ""
    items: list[_AggregatedGroup] = []


class Discovery:
    """
    The resources that one server serves.

    :param get: requests a path, with an Accept header or None
    """

    def __init__(self, get: Callable[[str, str | None], Awaitable[bytes]]):
        self._get = get
        self._served: Served | None = None
        #: The versions of each group, also of those without resources.
        self._groups: dict[str, list[str]] = {}
        #: The resources of the kinds that somebody has asked for, among those that are served.
        self._kinds: dict[GroupKind, list[ApiResource]] = {}
        #: The versions whose resources the last answer did not have. Each is logged once, until it is there again.
        self._missing: Collection[GroupVersion] = ()
        self._asking = anyio.Lock()
        #: The server's version, when it was last asked for.
        self._version: ServerVersion | None = None

    async def server_version(self) -> ServerVersion:
        """The server's version. It is requested each time, because it is also the cheapest sign of life."""
        self._version = _decoded(ServerVersion, await self._get("/version", None), "/version")
        return self._version

    async def lists_at_once(self) -> bool:
        """
        Whether a plain list of everything, at the most recent state, costs the server less than a streaming list.

        Kubernetes 1.34 and later answer it from the watch cache (KEP-2340) and encode one object after the other
        (KEP-5116). A streaming list encodes each object of JSON twice. The version is requested once.

        :raises ClientError: if the server does not give its version
        """
        async with self._asking:
            version = self._version or await self.server_version()
        return version.is_at_least(1, 34)

    async def resources(self, *, refresh: bool = False) -> list[ApiResource]:
        """
        All resources, each group's preferred version first.

        :param refresh: ask the server again
        """
        return (await self.served(refresh=refresh)).resources

    async def served(self, *, refresh: bool = False) -> Served:
        """The same as :meth:`resources`, along with the groups that are missing."""
        async with self._asking:
            if self._served is None or refresh:
                failed: dict[GroupVersion, str] = {}
                groups: dict[str, list[str]] = {}
                self._served = Served(
                    [*await self._discover("/api", failed, groups), *await self._discover("/apis", failed, groups)],
                    failed,
                )
                self._groups, self._kinds = groups, {}
                for version, error in failed.items():
                    if version not in self._missing:
                        log.warning("discovery_failed", group_version=str(version), error=error)
                self._missing = failed.keys()
            return self._served

    def invalidate(self) -> None:
        """Forget everything. The next call asks the server."""
        self._served = None

    async def groups(self) -> dict[str, list[str]]:
        """
        The versions of each group, the preferred one first.

        A group's own server may list no resources, as one of custom metrics does that has none yet.
        """
        await self.served()
        return {group: [*versions] for group, versions in self._groups.items()}

    async def resource_for_kind(self, kind: GroupVersionKind | GroupKind) -> ApiResource:
        """
        The resource of a kind; in its group's preferred version if no version is given.

        :raises NoKindMatch: if the server serves no such kind, also when asked again
        """
        if isinstance(kind, GroupKind) or not kind.version:
            return (await self.resources_for_kind(GroupKind(kind.group, kind.kind)))[0]
        where = GroupVersion(kind.group, kind.version)
        return (
            await self._find(
                lambda one: GroupVersion(one.gvr.group, one.gvr.version) == where and one.is_of_kind(kind.kind),
                f'no matches for kind "{kind.kind}" in version "{where}"',
            )
        )[0]

    async def resources_for_kind(self, kind: GroupKind) -> list[ApiResource]:
        """
        All resources of a kind, in all versions of its group, those of the preferred version first. At least one.

        :raises NoKindMatch: if the server serves no such kind, also when asked again
        """
        if self._served is not None and (known := self._kinds.get(kind)) is not None:
            return known
        found = self._kinds[kind] = await self._find(
            lambda one: one.gvr.group == kind.group and one.is_of_kind(kind.kind),
            f'no matches for kind "{kind.kind}" in group "{kind.group}"',
        )
        return found

    async def resource_for(self, gvr: GroupVersionResource) -> ApiResource:
        """
        The resource as the server serves it.

        :raises NoKindMatch: if the server does not serve it, also when asked again
        """
        otherwise = f"the server serves no {gvr.resource} in {gvr.api_version}"
        return (await self._find(lambda one: one.gvr == gvr, otherwise))[0]

    async def _find(self, wanted: Callable[[ApiResource], bool], otherwise: str) -> list[ApiResource]:
        known = self._served
        for refresh in (False, True):
            served = await self.served(refresh=refresh and self._served is known)
            if found := [resource for resource in served.resources if wanted(resource)]:
                return found
            if known is None:
                break  # it was asked just now
        raise NoKindMatch(otherwise)

    async def _discover(
        self, root: str, failed: dict[GroupVersion, str], groups: dict[str, list[str]]
    ) -> list[ApiResource]:
        try:
            data = await self._get(root, _AGGREGATED)
        except NotFound:
            if root == "/api":
                return []  # an aggregated API server, which has no core group
            raise
        answer = _decoded(_ResponseKind, data, root)
        if answer.kind == "APIGroupDiscoveryList":
            aggregated = _decoded(_AggregatedList, data, root)
            for group in aggregated.items:
                fresh = [version.version for version in group.versions if not version.is_stale]
                groups[group.metadata.get("name", "")] = fresh
            return list(_aggregated(aggregated, failed))
        if root == "/api":
            versions = [GroupVersion("", one) for one in _decoded(_Versions, data, root).versions]
        else:
            versions = list(_preferred_first(_decoded(_GroupList, data, root).groups))
        found: list[ApiResource] = []
        for version in versions:
            groups.setdefault(version.group, []).append(version.version)
            path = f"/api/{version}" if root == "/api" else f"/apis/{version}"
            try:
                listed = _decoded(_ResourceList, await self._get(path, None), path)
            except (ApiError, DecodeError) as error:
                failed[version] = str(error)
                continue
            found += _listed(version, listed)
        return found


def _preferred_first(groups: list[_Group]) -> Iterator[GroupVersion]:
    for group in groups:
        preferred = group.preferred_version.version if group.preferred_version else ""
        for entry in sorted(group.versions, key=lambda entry: entry.version != preferred):
            yield GroupVersion(group.name, entry.version)


def _listed(version: GroupVersion, listed: _ResourceList) -> Iterator[ApiResource]:
    subresources: dict[str, list[str]] = {}
    for one in listed.resources or ():
        parent, slash, name = one.name.partition("/")
        if slash:
            subresources.setdefault(parent, []).append(name)
    for one in listed.resources or ():
        if "/" not in one.name:
            yield ApiResource(
                GroupVersionResource(version.group, version.version, one.name),
                one.kind,
                one.namespaced,
                tuple(one.verbs or ()),
                one.singular_name,
                tuple(one.short_names or ()),
                tuple(one.categories or ()),
                tuple(subresources.get(one.name, ())),
            )


def _aggregated(groups: _AggregatedList, failed: dict[GroupVersion, str]) -> Iterator[ApiResource]:
    for group in groups.items:
        name = group.metadata.get("name", "")
        for version in group.versions:
            if version.is_stale:
                group_version = GroupVersion(name, version.version)
                failed[group_version] = f"stale GroupVersion discovery: {group_version}"
                continue
            for one in version.resources or ():
                if one.response_kind is None or not one.response_kind.kind:
                    continue  # it has subresources only, as a server of metrics has pods/cpu and no pods
                yield ApiResource(
                    GroupVersionResource(name, version.version, one.resource),
                    one.response_kind.kind,
                    one.scope == "Namespaced",
                    tuple(one.verbs or ()),
                    one.singular_resource,
                    tuple(one.short_names or ()),
                    tuple(one.categories or ()),
                    tuple(sub.subresource for sub in one.subresources or ()),
                )


def _decoded(type_: type[T], data: bytes, path: str) -> T:
    """
    Decode an answer.

    :raises DecodeError: if it is another one than an API server's, such as the page of a web server
    """
    try:
        return decode(type_, data)
    except msgspec.MsgspecError as error:
        raise DecodeError(f"the answer from {path} is not one of an API server: {error}") from None
