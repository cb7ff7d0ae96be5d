"""Building the models: one Struct a model of kubernetes_asyncio, made when it is first asked for.

A model is built together with those that its eager fields refer to. A lazy field's model waits until such a field is
first read: :class:`V1Pod` costs what its metadata costs, and :class:`V1PodSpec` with its 100 relatives is made when
the first ``pod.spec`` is read.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from datetime import datetime
from types import MemberDescriptorType
from typing import Any, cast

import msgspec

from kinformer.models._base import LazyField, LazyModel, MicroTime, Model, decode_hook
from kinformer.models._source import Shape, model_names, shape_of

__all__ = ("MICRO_TIMES", "Builder")

_SCALARS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "object": Any,
    "datetime": datetime,
}
_CONTAINER = re.compile(r"list\[(?P<item>.+)\]|dict\(str, (?P<value>.+)\)")
_MODEL = re.compile(r"[A-Z]\w*")

#: Fields that are metav1.MicroTime in the API's Go types. OpenAPI calls them date-time like all others, but the server
#: refuses one that comes without its six digits.
MICRO_TIMES = frozenset(
    {
        ("CoreV1Event", "event_time"),
        ("CoreV1EventSeries", "last_observed_time"),
        ("EventsV1Event", "event_time"),
        ("EventsV1EventSeries", "last_observed_time"),
        ("V1LeaseSpec", "acquire_time"),
        ("V1LeaseSpec", "renew_time"),
        ("V1alpha2LeaseCandidateSpec", "ping_time"),
        ("V1alpha2LeaseCandidateSpec", "renew_time"),
        ("V1beta1LeaseCandidateSpec", "ping_time"),
        ("V1beta1LeaseCandidateSpec", "renew_time"),
    }
)


class Builder:
    """
    Makes models into a namespace and finds there what it made before.

    :param namespace: where models live, by name; recursive ones are resolved in it
    :param module: what the models give as their module; `namespace` must be its own
    """

    def __init__(self, namespace: MutableMapping[str, Any], module: str):
        self._namespace = namespace
        self._module = module
        self._under_way: set[str] = set()

    def model(self, name: str) -> type[Model]:
        """
        The model of that name.

        :raises KeyError: if kubernetes_asyncio has none
        """
        made: type[Model] | None = self._namespace.get(name)
        return made if made is not None else self.build(name, shape_of(name))

    def build(self, name: str, shape: Shape) -> type[Model]:
        """Make a model of that shape, and those that its eager fields refer to."""
        types, json_names = shape
        lazy = {attribute: type_ for attribute, type_ in types.items() if _is_lazy(attribute, type_, types)}
        self._under_way.add(name)
        fields: list[tuple[str, Any, Any]] = [
            (attribute, msgspec.Raw if attribute in lazy else self._annotation(name, attribute, type_), None)
            for attribute, type_ in types.items()
        ]
        made: Any = msgspec.defstruct(
            name,
            fields,
            bases=(LazyModel if lazy else Model,),
            module=self._module,
            rename=json_names,
            eq=not lazy,
            omit_defaults=True,
            gc=False,
            repr_omit_defaults=True,
            namespace={"openapi_types": types, "attribute_map": json_names},
        )
        slots: dict[str, MemberDescriptorType] = {attribute: made.__dict__[attribute] for attribute in types}
        made.__slots_of_fields__ = tuple(slots.values())
        made.__lazy_fields__ = {
            attribute: LazyField(slots[attribute], type_, self._decoder) for attribute, type_ in lazy.items()
        }
        for attribute, field in made.__lazy_fields__.items():
            setattr(made, attribute, field)
        self._under_way.discard(name)
        self._namespace[name] = model = cast("type[Model]", made)
        return model

    def _annotation(self, model: str, attribute: str, type_: str) -> Any:
        if (model, attribute) in MICRO_TIMES:
            return MicroTime | None
        resolved = self._resolve(type_)
        # A model that is being built further up is referred to by name; it will be in the namespace by the first use.
        return f"{resolved} | None" if isinstance(resolved, str) else resolved | None if resolved is not Any else Any

    def _resolve(self, type_: str) -> Any:
        if type_ in _SCALARS:
            return _SCALARS[type_]
        if container := _CONTAINER.fullmatch(type_):
            inner = self._resolve(container["item"] or container["value"])
            of_items = container["item"] is not None
            if isinstance(inner, str):
                return f"list[{inner}]" if of_items else f"dict[str, {inner}]"
            return list[inner] if of_items else dict[str, inner]  # type: ignore[valid-type]
        if type_ in self._under_way:
            return type_
        # A few types of the discovery API are referred to by names under which kubernetes_asyncio has no model.
        return self.model(type_) if type_ in model_names() else Any

    def _decoder(self, type_: str) -> msgspec.json.Decoder[Any]:
        resolved = self._resolve(type_)
        return msgspec.json.Decoder(resolved if resolved is Any else resolved | None, dec_hook=decode_hook)


def _is_lazy(attribute: str, type_: str, types: dict[str, str]) -> bool:
    """managedFields wherever they are, and whatever a top-level kind has beyond its metadata and plain values."""
    if attribute == "managed_fields":
        return True
    top_level = "kind" in types and types.get("metadata") == "V1ObjectMeta"
    return top_level and attribute != "metadata" and type_ not in _SCALARS
