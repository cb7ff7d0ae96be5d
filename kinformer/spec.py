"""ControllerSpec: everything that a manager must know of a controller before it runs it, declared once in one file.

In: constants. Out: the controller's flags and their help, its RBAC manifests, the names that ``--controllers`` takes,
whether ``--shards`` can divide its keys, and its row in the documentation. A spec promises that reading it loads
nothing: the controller itself is imported when it is made. So ``kinformer manager --help`` knows all installed
controllers and loads none of them. A module with a spec imports only :mod:`kinformer.options`,
:mod:`kinformer.permissions` and this one::

    # my_package/spec.py
    @dataclass(frozen=True)
    class FleetOptions:
        concurrent_fleet_syncs: int = workers(5, "fleets")

    SPEC = ControllerSpec(
        name="fleet-controller",
        aliases=("fleet",),
        factory="my_package.controller:make_controller",
        options=FleetOptions,
        permissions=(allow("list watch", "fleets.example.com", "pods"), RECORD_EVENTS),
    )

The entry point names the spec::

    [project.entry-points."kinformer.controllers"]
    fleet = "my_package.spec:SPEC"
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kinformer.permissions import Rule

__all__ = ("ControllerSpec", "declared_by")


@dataclass(frozen=True, kw_only=True)
class ControllerSpec:
    """
    The declaration of one controller.

    :param name: the name in full: ``deployment-controller``
    :param factory: ``module:name`` of a function, a class, a method or a :class:`~kinformer.operator.Reconciler`. It is
        called with a :class:`~kinformer.manager.ControllerContext` and gives a :class:`~kinformer.manager.Controller`,
        another object with ``async def run()``, or an object that has one of these as ``controller``. Empty: there are
        only webhooks
    :param aliases: further names that users may write, such as kube-controller-manager's older short names
    :param summary: what it does, as half a sentence: ``keeps the number of pods``
    :param options: the dataclass of its options (:mod:`kinformer.options`); None if it has none
    :param permissions: the permissions that it needs at the server; None if they are not declared
    :param webhooks: ``module:name`` of the :class:`~kinformer.operator.webhooks.Webhooks` that belong to it; empty if
        there are none
    :param metrics: the names of the metrics that only this controller has
    :param sharded_by: what decides which shard a key belongs to: ``namespace``, or ``name`` for objects without a
        namespace; ``owner``: the namespace or, with ``--shard-by owner``, the uid of the object itself. Empty: every
        sync needs the objects of all namespaces, so processes cannot share its keys
    :param on_leader: why processes cannot share its keys, so that it runs on a leader only
    :param on_by_default: whether it runs unless it is switched off. Otherwise it runs only if it is selected by name
    :param feature_gate: the feature gate without which it does not run; empty if there is none
    :param page: the page about it below ``docs/controllers``, perhaps with an anchor
    :param differs: what differs from Kubernetes' own controller of this name
    :raises ValueError: if there is neither a factory nor webhooks
    """

    name: str
    factory: str = ""
    aliases: tuple[str, ...] = ()
    summary: str = ""
    options: type[Any] | None = None
    permissions: tuple[Rule, ...] | None = None
    webhooks: str = ""
    metrics: tuple[str, ...] = ()
    sharded_by: str = ""
    on_leader: str = ""
    on_by_default: bool = True
    feature_gate: str = ""
    page: str = ""
    differs: str = ""

    def __post_init__(self) -> None:
        if not self.factory and not self.webhooks:
            raise ValueError(f"the spec of controller {self.name} has neither a factory nor webhooks")

    def __call__(self, context: Any) -> Any:
        """
        Make the controller.

        :param context: the manager's :class:`~kinformer.manager.ControllerContext`
        :raises ImportError: as :meth:`load` does
        """
        return self.load()(context)

    def load(self) -> Callable[[Any], Any]:
        """
        Import the factory.

        :raises ImportError: if there is no such module, or it has no such name
        """
        factory: Callable[[Any], Any] = _imported(self.factory) if self.factory else self._make_idle
        return factory

    def _make_idle(self, context: Any) -> Any:
        if self.options is not None:
            context.read(self.options)  # so that the manager knows them
        return _OnlyWebhooks()


class _OnlyWebhooks:
    """A controller that does nothing. The manager serves its webhooks."""

    async def run(self) -> None:
        import anyio  # whoever only reads specs does not need it

        await anyio.sleep_forever()


def declared_by(factory: Any, what: str) -> Any:
    """
    What a controller declares: in its spec, or in the attributes of the class whose method makes it.

    :param factory: what an entry point names
    :param what: ``permissions``, ``options`` or ``webhooks``
    :return: None if it is not declared
    :raises ImportError: if it is in a module that cannot be imported
    """
    if isinstance(factory, ControllerSpec) and what == "webhooks":
        return _imported(factory.webhooks) if factory.webhooks else None
    declared = getattr(factory, what, None)
    return getattr(getattr(factory, "__self__", None), what, None) if declared is None else declared


def _imported(path: str) -> Any:
    """
    Import what a path names: ``module:name``.

    :raises ImportError: if there is no such module, or it has no such name
    """
    module, _, name = path.partition(":")
    loaded = importlib.import_module(module)
    try:
        return attrgetter(name)(loaded)
    except AttributeError:
        raise ImportError(f"{module} has no {name!r}") from None
