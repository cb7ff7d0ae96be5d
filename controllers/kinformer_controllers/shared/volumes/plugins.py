"""Volume plug-ins: they provision, delete, recycle and expand storage.

A plug-in is an object with a name. It is found by an entry point::

    [project.entry-points."kinformer.volume_plugins"]
    "example.com/files" = "my_package:make_plugin"

``make_plugin`` takes no arguments and returns the plug-in. The methods of a plug-in say what it can do:
:class:`ProvisionerPlugin`, :class:`DeleterPlugin`, :class:`RecyclerPlugin`, :class:`ExpanderPlugin`. A storage class
names its provisioner. If no plug-in has that name, the controller waits for an external provisioner, which watches the
annotations of claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from kinformer.installed import installed
from kinformer.manager import SyncError
from kinformer.meta import Quantity
from kinformer.models import V1Node
from kinformer_controllers.shared.volumes.facts import PROVISIONED_BY, Claim, Volume, annotation_of
from kinformer_controllers.shared.volumes.translation import MIGRATED, MIGRATED_TO

__all__ = (
    "DeleterPlugin",
    "ExpanderPlugin",
    "NoPlugin",
    "ProvisionRequest",
    "ProvisionerPlugin",
    "ProvisioningDisabled",
    "RecyclerPlugin",
    "VolumeInUse",
    "VolumePlugin",
    "VolumePlugins",
    "installed_plugins",
)

GROUP: Final = "kinformer.volume_plugins"
_IN_TREE: Final = "kubernetes.io/"


class NoPlugin(SyncError):
    """An in-tree plug-in of Kubernetes is needed, and there is none with that name here."""


class ProvisioningDisabled(Exception):
    """A plug-in makes no volumes as it is configured."""


class VolumeInUse(Exception):
    """
    A plug-in cannot delete a volume yet, because it is in use. This is no error: the deletion is tried again later.
    """


@dataclass(frozen=True, slots=True)
class ProvisionRequest:
    """
    The volume that a plug-in has to make.

    :param name: the volume's name
    :param node: the node that the scheduler has chosen for the claim's pod; None if the volume is made first
    :param parameters: the parameters of the storage class
    :param allowed_topologies: the allowed topologies of the storage class
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
    What all plug-ins have.

    :ivar name: its name in storage classes and in the annotation ``pv.kubernetes.io/provisioned-by``
    """

    name: str

    def supports(self, volume: Volume) -> bool:
        """Whether the plug-in can handle the volume's type of storage."""


@runtime_checkable
class ProvisionerPlugin(Protocol):
    """
    A plug-in that makes volumes.

    :ivar supports_mount_options: whether its volumes may have mount options
    """

    name: str
    supports_mount_options: bool

    async def provision(self, request: ProvisionRequest) -> Volume:
        """
        Make the storage and return its volume, which the controller then creates on the server.

        It must be idempotent: after a crash it may be called again with the same name, and must return the same
        storage. An error is reported to the user by an Event.

        :raises ProvisioningDisabled: if it makes no volumes as it is configured
        """


@runtime_checkable
class DeleterPlugin(Protocol):
    """A plug-in that deletes volumes."""

    name: str

    async def delete(self, volume: Volume) -> None:
        """
        Delete the storage of a volume.

        It may be called again after it has succeeded. An error is reported to the user by an Event, and the call is
        repeated later.

        :raises VolumeInUse: if the volume cannot be deleted yet
        """


@runtime_checkable
class RecyclerPlugin(Protocol):
    """A plug-in that empties volumes."""

    name: str

    async def recycle(self, volume: Volume) -> None:
        """Empty a volume, so that it can be bound again. An error is reported to the user by an Event."""


@runtime_checkable
class ExpanderPlugin(Protocol):
    """
    A plug-in that expands volumes.

    :ivar requires_file_system_expansion: whether the node has to expand the file system afterwards
    """

    name: str
    requires_file_system_expansion: bool

    async def expand(self, volume: Volume, to: Quantity, current: Quantity) -> Quantity:
        """
        Expand a volume's storage. An error is reported to the user by an Event.

        :return: the new size
        """


class VolumePlugins:
    """The plug-ins of one process."""

    def __init__(self, plugins: Iterable[VolumePlugin] = ()) -> None:
        self._plugins = {plugin.name: plugin for plugin in plugins}

    def provisioner(self, name: str) -> ProvisionerPlugin | None:
        """
        Return the plug-in that a storage class names; None for an external provisioner.

        :raises NoPlugin: if it is an in-tree plug-in that does not exist here
        """
        found: ProvisionerPlugin | None = self._by_name(name, ProvisionerPlugin, "provisionable")
        return found

    def deleter(self, volume: Volume) -> DeleterPlugin | None:
        """
        Return the plug-in that deletes a volume's storage; None for an external provisioner.

        :raises NoPlugin: if there is neither
        """
        if provisioned_by := annotation_of(volume, PROVISIONED_BY):
            named: DeleterPlugin | None = self._by_name(provisioned_by, DeleterPlugin, "deletable")
            return named
        if annotation_of(volume, MIGRATED_TO) is not None or volume.spec.csi is not None:
            return None
        found: DeleterPlugin | None = self._supporting(volume, DeleterPlugin)
        if found is None:
            what = "deletable volume" if any(it.supports(volume) for it in self._plugins.values()) else "volume"
            name = volume.metadata.name
            raise NoPlugin(f'error getting deleter volume plugin for volume "{name}": no {what} plugin matched')
        return found

    def recycler(self, volume: Volume) -> RecyclerPlugin | None:
        """Return the plug-in that empties a volume; None if there is none."""
        found: RecyclerPlugin | None = self._supporting(volume, RecyclerPlugin)
        return found

    def expander(self, volume: Volume) -> ExpanderPlugin | None:
        """Return the plug-in that expands a volume; None if there is none."""
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
    Make the plug-ins of all installed packages.

    :raises Exception: if the import of a package, or the creation of its plug-in, fails
    """
    return [entry.load()() for entry in installed(GROUP)]
