"""Custom resources, declared once as a class: the type of the objects, with its group, version and plural.

Informers, clients, event sources, owner references and Events take this class, and need no further names::

    class WebAppSpec(Fields):
        image: str
        replicas: int = 1


    class WebAppStatus(Fields):
        ready_replicas: int = 0


    class WebApp(CustomResource[WebAppSpec, WebAppStatus], group="example.com", version="v1", plural="webapps"):
        pass


    apps = informers.informer_for(WebApp)
    await client.resource(WebApp).create(WebApp(metadata=V1ObjectMeta(name="shop"), spec=WebAppSpec(image="shop:1")))

Objects are :class:`msgspec.Struct`, like models. Fields are decoded by their types, and a value of the wrong type is an
error with the path of the field. A field that the class does not have is dropped when an object is read. So it is lost
if the object is written back as a whole. If other versions of the class may have more fields, update the status or use
apply. Classes of :class:`OpenFields` and :class:`OpenResource` keep such fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, TypeVar, get_args

import msgspec

from kinformer.arguments import want, want_several
from kinformer.models import OpenStruct, ResourceInfo, V1ObjectMeta

__all__ = ("Column", "CustomResource", "DefinitionOptions", "Fields", "OpenFields", "OpenResource", "Scale")

Spec = TypeVar("Spec")
Status = TypeVar("Status")

#: Keywords of a class statement that are msgspec's.
_OF_STRUCTS = frozenset(
    (
        *("tag", "tag_field", "rename", "omit_defaults", "forbid_unknown_fields", "frozen", "order", "eq", "kw_only"),
        *("repr_omit_defaults", "array_like", "gc", "weakref", "dict", "cache_hash"),
    )
)


@dataclass(frozen=True, slots=True)
class Column:
    """
    A column in kubectl's table.

    :param name: the title
    :param path: the field, by the names of attributes: ``status.ready_replicas``,
        ``status.conditions[?(@.type=="Ready")].last_transition_time``. Or its JSON path: ``.status.readyReplicas``
    :param type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``; if empty, it follows from the field's
        type
    :param description: a description of the column
    :param priority: a column with 0 is always shown, one with a greater number only with ``-o wide``
    :param format: how clients show the value, such as ``int32`` or ``date-time``; the server passes it on
    """

    name: str
    path: str
    type: str = ""
    description: str = ""
    priority: int = 0
    format: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """
    The fields that ``kubectl scale`` and autoscalers use: names of attributes, or JSON paths, as in a :class:`Column`.

    :param spec_replicas: the wanted number of replicas
    :param status_replicas: the actual number of replicas
    :param selector: a string field with a label selector, which autoscalers need; empty if there is none
    """

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True)
class DefinitionOptions:
    """
    The keywords of a class statement that are only for the CustomResourceDefinition.

    :param singular: the singular name; by default the kind in lower case
    :param list_kind: the kind of lists; ``WebAppList`` if empty
    :param short_names: short names for kubectl: ``("wa",)``
    :param categories: groups of kinds that kubectl lists together: ``("all",)``
    :param columns: the columns of kubectl's table
    :param scale: the fields of the ``scale`` subresource; None: there is no such subresource
    :param status_subresource: whether the status is written by itself; None: if there is a status
    :param selectable: the fields that field selectors may name: ``("spec.colour",)``, as in a :class:`Column`
    :param served: whether the server serves this version
    :param storage: whether objects are stored in this version. Exactly one version of a kind is the stored one
    :param deprecated: True, or the text of the warning that clients of this version get
    """

    singular: str
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    status_subresource: bool | None = None
    selectable: tuple[str, ...] = ()
    served: bool = True
    storage: bool = True
    deprecated: str | bool = False


class Fields(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """
    The base of the parts of a custom resource: its spec, its status, and objects within them.

    In JSON, names are in camel case: ``ready_replicas`` becomes ``readyReplicas``. A field that has its default value
    is not written. The server sets the defaults of the definition.
    """


class OpenFields(OpenStruct, rename="camel", omit_defaults=True):
    """
    :class:`Fields` that keep unknown fields: the base of objects whose schema has
    ``x-kubernetes-preserve-unknown-fields``.

    The fields that the class does not declare are in `extra`, by their names in JSON, as plain values. They are written
    back, copied and compared with the others::

        class Template(OpenFields):
            image: str
            replicas: int = 1


        template = Template(image="shop:1", extra={"colour": "red"})  # {"image": "shop:1", "colour": "red"}

    Fields are keyword arguments. A class of OpenFields cannot declare a field `extra`: give it another name, and
    ``field(name="extra")``. Such an object is decoded in two steps, which takes longer than one of :class:`Fields`.
    """

    __slots__ = ()


def _check_names(name: str, group: str, version: str, plural: str) -> None:
    """
    :raises TypeError: if a server would refuse them
    """
    if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", plural):
        raise TypeError(f"the custom resource {name} has the plural {plural!r}: want small letters, such as 'webapps'")
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+", group):
        raise TypeError(f"the custom resource {name} has the group {group!r}: want a domain, such as 'example.com'")
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", version):
        raise TypeError(f"the custom resource {name} has the version {version!r}: want one such as 'v1' or 'v1beta1'")


def _instead_of(keyword: str) -> str:
    """What to write in place of an unknown keyword of a class statement."""
    if keyword == "scope":
        return "want namespaced=False for objects that belong to no namespace"
    known = inspect.getfullargspec(_CustomResourceMeta.__new__).kwonlyargs
    return f"want {' or '.join(get_close_matches(keyword, known, 2, 0.5)) or ', '.join(known)}"


def _types_of(cls: type[Any]) -> list[Any]:
    """The type arguments of a class's bases."""
    return [type_ for base in cls.__dict__.get("__orig_bases__", ()) for type_ in get_args(base)]


class _CustomResourceMeta(msgspec.StructMeta):
    """The metaclass that takes the keywords of the class statement."""

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
        list_kind: str = "",
        short_names: Sequence[str] = (),
        categories: Sequence[str] = (),
        columns: Sequence[Column] = (),
        scale: Scale | None = None,
        status_subresource: bool | None = None,
        selectable: Sequence[str] = (),
        served: bool = True,
        storage: bool = True,
        deprecated: str | bool = False,
        **config: Any,
    ) -> Any:
        if unknown := [keyword for keyword in config if keyword not in _OF_STRUCTS]:
            raise TypeError(f"the class statement of {name} has no {unknown[0]}: {_instead_of(unknown[0])}")
        for keyword, several in {
            "short_names": short_names,
            "categories": categories,
            "selectable": selectable,
        }.items():
            want_several(several, f"{keyword} of {name}", f"a tuple, as in {keyword}=('a',)")
        want_several(columns, f"columns of {name}", "a tuple, as in columns=(Column('Size', 'spec.size'),)")
        for column in columns:
            want(column, isinstance(column, Column), f"a column of {name}", "Column('Size', 'spec.size')")
        cls: Any = super().__new__(mcls, name, bases, namespace, **config)
        given = {"group": group, "version": version, "plural": plural}
        if group and version and plural:
            _check_names(name, group, version, plural)
            if all(isinstance(type_, TypeVar) for of in cls.__mro__ for type_ in _types_of(of)):
                raise TypeError(
                    f"the custom resource {name} has no types: want {name}(CustomResource[Spec, Status], …)"
                )
        missing = [keyword for keyword, value in given.items() if not value]
        if group and version and plural:
            cls.__resource__ = ResourceInfo(group, version, kind or name, plural, namespaced)
            cls.__definition__ = DefinitionOptions(
                singular or (kind or name).lower(),
                list_kind,
                tuple(short_names),
                tuple(categories),
                tuple(columns),
                scale,
                status_subresource,
                tuple(selectable),
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

    - `group`, `version`, `plural`: as in the CustomResourceDefinition;
    - `kind`: by default the name of the class;
    - `namespaced`: False for objects that have no namespace;
    - `singular`, `list_kind`, `short_names`, `categories`, `columns`, `scale`, `status_subresource`, `selectable`,
      `served`, `storage` and `deprecated`: for the CustomResourceDefinition; see :class:`DefinitionOptions`.

    A class without `group`, `version` and `plural` is a base class for others. If the resource has no spec or no
    status, give ``None`` as its type. If a spec may be left out, give ``WebAppSpec | None``, and declare ``spec:
    WebAppSpec | None = None`` in the class. Further fields beside spec and status are declared in the class, too.
    """

    #: The group, version, kind and plural. :func:`kinformer.models.resource_for` returns this.
    __resource__: ClassVar[ResourceInfo]
    #: The other keywords, for the definition.
    __definition__: ClassVar[DefinitionOptions]

    api_version: str = ""
    kind: str = ""
    metadata: V1ObjectMeta
    spec: Spec
    status: Status | None = None

    def __post_init__(self) -> None:
        # These are no defaults of the fields, because defaults are not written, and a manifest needs both fields.
        if not self.kind:
            declared: ResourceInfo | None = getattr(type(self), "__resource__", None)
            if declared is not None:
                self.api_version = self.api_version or declared.api_version
                self.kind = declared.kind


class OpenResource(CustomResource[Spec, Status], kw_only=True):
    """
    A :class:`CustomResource` that keeps unknown fields at its top level, beside spec and status.

    Its whole schema has ``x-kubernetes-preserve-unknown-fields``. The fields that the class does not declare are in
    `extra`, as in :class:`OpenFields`. Encode such an object with :func:`kinformer.models.encode`: msgspec's own
    encoder writes a field of the name `extra`.
    """

    __open__: ClassVar = True

    extra: dict[str, Any] = {}
