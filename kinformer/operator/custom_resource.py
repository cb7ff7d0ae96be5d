"""Custom resources, declared once: a class that is the type of the objects, and says where they are served.

What flows in is a class statement; what comes out is a type that everything else understands without being told group,
version, kind and plural again: informers, clients, event sources, owner references and Events::

    class WebAppSpec(Fields):
        image: str
        replicas: int = 1


    class WebAppStatus(Fields):
        ready_replicas: int = 0


    class WebApp(CustomResource[WebAppSpec, WebAppStatus], group="example.com", version="v1", plural="webapps"):
        pass


    apps = informers.informer_for(WebApp)
    await client.resource(WebApp).create(WebApp(metadata=V1ObjectMeta(name="shop"), spec=WebAppSpec(image="shop:1")))

Objects are :class:`msgspec.Struct`, as models are: fields are decoded by their types, and what does not fit is an error
that names the path. A field that the type does not know is left out when an object is read, and so is not there when it
is written back: update the status, or apply, rather than replace a whole object that other versions have fields for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from kinformer.models import ResourceInfo, V1ObjectMeta

__all__ = ("Column", "CustomResource", "DefinitionOptions", "Fields", "Scale")

Spec = TypeVar("Spec")
Status = TypeVar("Status")


@dataclass(frozen=True, slots=True)
class Column:
    """
    A column that kubectl shows.

    :param path: of the field in JSON, as ``.status.readyReplicas``
    :param type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``; by the field's type if empty
    :param priority: 0: always shown; more: with ``-o wide``
    """

    name: str
    path: str
    type: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """
    Which fields ``kubectl scale`` and autoscalers go by: paths in JSON.

    :param selector: of a text that is a label selector, which autoscalers need
    """

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True)
class DefinitionOptions:
    """
    What a class statement says for the CustomResourceDefinition alone.

    :param singular: the kind in small letters if it is left out
    :param short_names: for kubectl: ``("wa",)``
    :param categories: groups of kinds that kubectl lists together: ``("all",)``
    :param served: whether the server offers this version
    :param storage: whether objects are stored in this version: one version of each kind is
    :param deprecated: True, or the warning that whoever uses this version gets
    """

    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    served: bool = True
    storage: bool = True
    deprecated: str | bool = False


class Fields(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """
    A part of a custom resource: its spec, its status, or an object within them.

    Attributes are in Python's spelling and in JSON in the API's: ``ready_replicas`` is ``readyReplicas``. A field that
    has its default is not written; the server sets the defaults that the definition names.
    """


class _CustomResourceMeta(msgspec.StructMeta):
    """Takes the keywords of the class statement."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        group: str | None = None,
        version: str | None = None,
        plural: str | None = None,
        kind: str | None = None,
        namespaced: bool = True,
        singular: str = "",
        short_names: Sequence[str] = (),
        categories: Sequence[str] = (),
        columns: Sequence[Column] = (),
        scale: Scale | None = None,
        served: bool = True,
        storage: bool = True,
        deprecated: str | bool = False,
        **config: Any,
    ) -> Any:
        cls: Any = super().__new__(mcls, name, bases, namespace, **config)
        given = {"group": group, "version": version, "plural": plural}
        missing = [keyword for keyword, value in given.items() if not value]
        if group and version and plural:
            cls.__resource__ = ResourceInfo(group, version, kind or name, plural, namespaced)
            cls.__definition__ = DefinitionOptions(
                singular or (kind or name).lower(),
                tuple(short_names),
                tuple(categories),
                tuple(columns),
                scale,
                served,
                storage,
                deprecated,
            )
        elif len(missing) < len(given):
            raise TypeError(f"the custom resource {name} lacks {' and '.join(missing)} in its class statement")
        return cls


class CustomResource(
    msgspec.Struct,
    Generic[Spec, Status],
    metaclass=_CustomResourceMeta,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
):
    """
    The base of custom resources: ``class WebApp(CustomResource[WebAppSpec, WebAppStatus], group=…, …)``.

    The keywords of the class statement:

    - `group`, `version`, `plural`: where the objects are served, as in the CustomResourceDefinition;
    - `kind`: the name of the class if it is left out;
    - `namespaced`: False for objects that belong to no namespace;
    - `singular`, `short_names`, `categories`, `columns`, `scale`, `served`, `storage` and `deprecated`: what its
      definition says besides; see :class:`DefinitionOptions`.

    A class without `group`, `version` and `plural` is a base for others. A resource without a status has ``None`` for
    its second type.
    """

    #: Where the objects are served; what :func:`kinformer.models.resource_for` gives.
    __resource__: ClassVar[ResourceInfo]
    #: What the definition says besides.
    __definition__: ClassVar[DefinitionOptions]

    api_version: str = ""
    kind: str = ""
    metadata: V1ObjectMeta
    spec: Spec
    status: Status | None = None

    def __post_init__(self) -> None:
        # Not by defaults, which are left out when an object is written: a manifest says what it is.
        if not self.kind:
            declared: ResourceInfo | None = getattr(type(self), "__resource__", None)
            if declared is not None:
                self.api_version = self.api_version or declared.api_version
                self.kind = declared.kind
