"""Volume plug-ins: how storage is made, removed, emptied and enlarged.

A plug-in is an object with a name, found by an entry point::

    [project.entry-points."kinformer.volume_plugins"]
    "example.com/files" = "my_package:make_plugin"

where ``make_plugin`` takes nothing and returns the plug-in. What it can do is told by the methods that it has:
:class:`ProvisionerPlugin`, :class:`DeleterPlugin`, :class:`RecyclerPlugin`, :class:`ExpanderPlugin`. A storage class
names its provisioner; where no plug-in has that name, an external provisioner is waited for, which watches claims by
their annotations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, runtime_checkable

from kinformer.manager import SyncError
from kinformer.meta import Quantity
from kinformer.models import V1Node
from kinformer_controllers.shared.volumes.facts import PROVISIONED_BY, Claim, Volume, annotation_of
from kinformer_controllers.shared.volumes.migration import MIGRATED, MIGRATED_TO

__all__ = (
    "DeleterPlugin",
    "ExpanderPlugin",
    "NoPlugin",
    "ProvisionRequest",
    "ProvisionerPlugin",
    "RecyclerPlugin",
    "VolumeInUse",
    "VolumePlugin",
    "VolumePlugins",
    "installed_plugins",
)

GROUP: Final = "kinformer.volume_plugins"
_IN_TREE: Final = "kubernetes.io/"


class NoPlugin(SyncError):
    """Kubernetes' own plug-in is asked for, and there is none of that name here."""


class VolumeInUse(Exception):
    """A plug-in cannot delete a volume yet, since something uses it. It is asked again later, and nothing is wrong."""


@dataclass(frozen=True, slots=True)
class ProvisionRequest:
    """
    What a plug-in is asked to make.

    :param name: of the volume
    :param node: the one that the pod is to run on, where that was decided first
    :param parameters: of the storage class
    :param allowed_topologies: of the storage class
    """

    name: str
    claim: Claim
    reclaim_policy: str
    node: V1Node | None = None
    mount_options: Sequence[str] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    allowed_topologies: Sequence[Any] = ()


class VolumePlugin(Protocol):
    """
    :ivar name: as storage classes and the annotation ``pv.kubernetes.io/provisioned-by`` have it
    """

    name: str

    def supports(self, volume: Volume) -> bool:
        """Whether a volume is of the plug-in's kind."""


@runtime_checkable
class ProvisionerPlugin(Protocol):
    """
    :ivar supports_mount_options: whether volumes may have mount options
    """

    name: str
    supports_mount_options: bool

    async def provision(self, request: ProvisionRequest) -> Volume:
        """
        Make storage, and return the volume for it, which is not on the server yet. What it raises is told the user.

        It may be called again with the same name after a crash, and gives the same storage then.
        """


@runtime_checkable
class DeleterPlugin(Protocol):
    name: str

    async def delete(self, volume: Volume) -> None:
        """
        Remove the storage. What it raises is told the user, and it is called again later; also if it is gone already.

        :raises VolumeInUse: if that cannot be done yet
        """


@runtime_checkable
class RecyclerPlugin(Protocol):
    name: str

    async def recycle(self, volume: Volume) -> None:
        """Empty a volume, so that it can be bound again. What it raises is told the user."""


@runtime_checkable
class ExpanderPlugin(Protocol):
    """
    :ivar requires_file_system_expansion: whether the node has to enlarge the file system afterwards
    """

    name: str
    requires_file_system_expansion: bool

    async def expand(self, volume: Volume, to: Quantity, current: Quantity) -> Quantity:
        """Enlarge a volume's storage. What it raises is told the user.

        :return: how large it is then
        """


class VolumePlugins:
    """The plug-ins of one process."""

    def __init__(self, plugins: Iterable[VolumePlugin] = ()) -> None:
        self._plugins = {plugin.name: plugin for plugin in plugins}

    def provisioner(self, name: str) -> ProvisionerPlugin | None:
        """
        The plug-in that a storage class names, None for an external one.

        :raises NoPlugin: if it is one of Kubernetes' own that is not here
        """
        found: ProvisionerPlugin | None = self._by_name(name, ProvisionerPlugin, "provisionable")
        return found

    def deleter(self, volume: Volume) -> DeleterPlugin | None:
        """
        The plug-in that removes a volume's storage, None for an external one.

        :raises NoPlugin: if there is none
        """
        if provisioned_by := annotation_of(volume, PROVISIONED_BY):
            named: DeleterPlugin | None = self._by_name(provisioned_by, DeleterPlugin, "deletable")
            return named
        if annotation_of(volume, MIGRATED_TO) is not None or volume.spec.csi is not None:
            return None
        found: DeleterPlugin | None = self._supporting(volume, DeleterPlugin)
        if found is None:
            name = volume.metadata.name
            raise NoPlugin(
                f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
            )
        return found

    def recycler(self, volume: Volume) -> RecyclerPlugin | None:
        """The plug-in that empties a volume, None if there is none."""
        found: RecyclerPlugin | None = self._supporting(volume, RecyclerPlugin)
        return found

    def expander(self, volume: Volume) -> ExpanderPlugin | None:
        """The plug-in that enlarges a volume, None if there is none."""
        found: ExpanderPlugin | None = self._supporting(volume, ExpanderPlugin)
        return found

    def _by_name(self, name: str, kind: Any, what: str) -> Any:
        if name in MIGRATED:
            return None
        plugin = self._plugins.get(name)
        if isinstance(plugin, kind):
            return plugin
        if name.startswith(_IN_TREE):
            raise NoPlugin(f"no volume plugin matched name: {name}" if plugin is None else f"{name} is not {what}")
        return None

    def _supporting(self, volume: Volume, kind: Any) -> Any:
        return next((it for it in self._plugins.values() if isinstance(it, kind) and it.supports(volume)), None)


def installed_plugins() -> list[VolumePlugin]:
    """
    The plug-ins of all packages that are installed.

    :raises Exception: whatever a package raises when it is imported, or its plug-in made
    """
    return [entry.load()() for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)]
