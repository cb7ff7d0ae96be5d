"""Admission: plug-ins that may change or refuse an object before it is stored.

A plug-in is a class that gets an :class:`Attributes` for every write. ``admit`` may change the object, ``validate`` may
only refuse it. Both refuse by raising a :class:`~kinformer.envtest.status.StatusError`. Plug-ins of other packages are
found by entry points of the group ``kinformer.admission``, so the package of a controller can bring the admission that
belongs to it. Each entry point is called once for each server, with an :class:`AdmissionContext`.

Plug-ins run on the event loop's thread within the transaction of the write. They do not await, and what they read with
their client is still true when the object is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kinformer.envtest.registry import Resource
from kinformer.meta.names import GroupVersionKind

if TYPE_CHECKING:
    from kinformer.clock import Clock

__all__ = (
    "Admission",
    "AdmissionContext",
    "AdmissionPlugin",
    "Attributes",
    "ObjectClient",
    "Operation",
    "Review",
    "User",
    "load_plugins",
)

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = field(default_factory=dict)

    @property
    def info(self) -> dict[str, Any]:
        """The user, as in reviews and expressions. Empty fields are left out."""
        said = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": dict(self.extra)}
        return {key: value for key, value in said.items() if value}


@dataclass(slots=True)
class Attributes:
    """
    One write, as plug-ins get it.

    :param object: the object to store, without kind and apiVersion; None for a delete. `admit` may change it in place
    :param old_object: the stored object; None for a create
    :param gvk: the kind of the object, if it is not the resource's, such as a Scale or a Binding
    :param is_name_generated: whether the object came without a name
    :param warnings: warnings for the client's user; plug-ins may add to them
    """

    operation: Operation
    resource: Resource
    subresource: str
    namespace: str
    name: str
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None
    user: User
    dry_run: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    gvk: GroupVersionKind | None = None
    is_name_generated: bool = False
    warnings: list[str] = field(default_factory=list)

    @property
    def asked_name(self) -> str:
        """The name in the request. A name that the server has generated does not count."""
        return "" if self.is_name_generated else self.name

    def seen_as(self, resource: Resource, obj: dict[str, Any] | None) -> dict[str, Any] | None:
        """An object of this write, at the version of `resource`, with its kind and apiVersion."""
        if obj is None:
            return None
        gvk = self.gvk or resource.gvk
        return {"kind": gvk.kind, "apiVersion": gvk.api_version, **obj}


class Review(Protocol):
    """
    Decisions about a request that are made outside this process: :class:`~kinformer.envtest.webhooks.WebhookSession`.

    Both steps may raise an exception that makes the request run again later. They are called before anything is
    written.
    """

    def once(self, what: str, make: Callable[[], Any]) -> Any:
        """Make a value once for a request, so that it stays the same when the request runs again."""

    def mutate(self, attributes: Attributes) -> None:
        """Change the object, in place, or refuse the write."""

    def validate(self, attributes: Attributes) -> None:
        """Refuse the write, or let it pass."""


class ObjectClient(Protocol):
    """Reads and writes of stored objects, within the transaction of the write that is being admitted."""

    def get(self, group: str, plural: str, namespace: str, name: str) -> dict[str, Any] | None:
        """A copy of an object; None if there is none."""

    def list(self, group: str, plural: str, namespace: str = "") -> list[dict[str, Any]]:
        """Copies of the objects of a namespace, or of all if it is empty."""

    def update_status(self, group: str, plural: str, obj: dict[str, Any]) -> dict[str, Any]:
        """
        Write an object's status.

        :raises StatusError: Conflict, if the object's resourceVersion is not the present one; Invalid, …
        """


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """The objects and the clock that a plug-in may use."""

    objects: ObjectClient
    clock: Clock


class AdmissionPlugin(Protocol):
    """A part of admission. A plug-in that has this class as its base needs only one of the methods."""

    def admit(self, attributes: Attributes) -> None:
        """Change the object, or refuse the write."""
        return

    def validate(self, attributes: Attributes) -> None:
        """Refuse the write, or let it pass."""
        return


@dataclass(slots=True)
class Admission:
    """
    The chain of plug-ins. All of them admit, in order, before the first one validates.

    :param policies: plug-ins that validate before webhooks are called
    """

    plugins: list[AdmissionPlugin] = field(default_factory=list)
    policies: list[AdmissionPlugin] = field(default_factory=list)

    def admit(self, attributes: Attributes) -> None:
        for plugin in self.plugins:
            plugin.admit(attributes)

    def judge(self, attributes: Attributes) -> None:
        for policy in self.policies:
            policy.validate(attributes)

    def validate(self, attributes: Attributes) -> None:
        for plugin in self.plugins:
            plugin.validate(attributes)


def load_plugins(context: AdmissionContext) -> Iterable[AdmissionPlugin]:
    """The plug-ins of installed packages, in the order of their names."""
    for make in _installed():
        yield make(context)


@cache
def _installed() -> tuple[Callable[[AdmissionContext], AdmissionPlugin], ...]:
    # To list installed entry points reads some files for each package, which would take milliseconds for each server.
    points = sorted(entry_points(group="kinformer.admission"), key=lambda point: point.name)
    return tuple(point.load() for point in points)
