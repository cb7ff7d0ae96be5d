"""Builder of models: makes one Struct for each model of kubernetes_asyncio, at its first use, in any thread.

A model is built together with the models that its eager fields refer to. The model of a lazy field is built when such a
field is first read. So :class:`V1Pod` costs only its metadata. :class:`V1PodSpec` with its 100 related models is built
when the first ``pod.spec`` is read.

No thread sees an unfinished model. A group of models is built under one lock. Then msgspec is made to inspect all of
their fields, which it would otherwise do with the first decoder, and not safely in two threads. Only then the models
are published. The lock protects everything that makes msgspec inspect types, so it is used for all decoders, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cache, partial
from threading import RLock
from types import MemberDescriptorType
from typing import Any, Final, cast, get_args, get_origin

import msgspec

from kinformer.models._base import LazyModel, Model, keeping_micro_times
from kinformer.models._complete import is_lazy
from kinformer.models._encoding import ENCODER, MicroTime
from kinformer.models._lazy import LazyField, Reader
from kinformer.models._open import OpenStruct, Whole, open_struct, whole_of
from kinformer.models._recurring import SHARERS
from kinformer.models._source import CONTAINER, Shape, model_names, shape_of
from kinformer.models._twins import can_retype, twin_of

__all__ = ("MICRO_TIMES", "Builder", "decode_hook", "exclusively", "make_decoder", "slots_can_be_covered")

_SCALARS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "object": Any,
    "datetime": datetime,
}

#: Fields that are metav1.MicroTime in the API's Go types. OpenAPI calls them date-time like all others. But the server
#: refuses a MicroTime without its six digits.
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

_building: Final = RLock()


def exclusively() -> AbstractContextManager[object]:
    """Within this context, no other thread makes a decoder or a model. See :func:`make_decoder`."""
    return _building


def make_decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    """
    Make a decoder of a type, while no other thread makes one.

    msgspec stores what it knows of a Struct with the Struct, and shows it to other threads before it is complete.
    """
    with _building:
        return msgspec.json.Decoder(type_, dec_hook=decode_hook)


def decode_hook(type_: type, value: Any) -> Any:
    """Called by msgspec for types that it does not know."""
    if type_ is MicroTime:
        return MicroTime.fromisoformat(value)
    if get_origin(type_) is Whole:
        (struct,) = get_args(type_)
        return whole_of(struct, value, _declared_decoder(struct).decode, ENCODER.encode)
    if issubclass(type_, OpenStruct):
        return open_struct(type_, value, _declared_decoder(type_.__known__).decode, ENCODER.encode)
    raise NotImplementedError(f"a {type_.__qualname__} cannot be decoded: the type is not known here")


@cache
def _declared_decoder(struct: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return make_decoder(struct)


class Builder:
    """
    Makes models, and stores them in a namespace.

    :param namespace: where finished models are put, by name
    :param module: the models' ``__module__``; `namespace` must be its own
    """

    def __init__(self, namespace: MutableMapping[str, Any], module: str):
        self._namespace = namespace
        self._module = module

    def model(self, name: str) -> type[Model]:
        """
        The model with this name.

        :raises KeyError: if kubernetes_asyncio has none
        """
        made: type[Model] | None = self._namespace.get(name)
        return made if made is not None else self.build(name, shape_of(name))

    def build(self, name: str, shape: Shape) -> type[Model]:
        """Make a model with this shape, and the models that its eager fields refer to."""
        with _building:
            made: type[Model] | None = self._namespace.get(name)  # by another thread, while this one waited
            if made is None:
                group = _Group(self._namespace, self._module, self.type_of, self._reader, self._reader_of_all)
                made = group.build(name, shape)
                group.finish()
                self._namespace.update(group.made)
        return made

    def type_of(self, type_: str) -> Any:
        """
        The Python type for a type in OpenAPI generator's notation: ``list[V1Container]``. Its models are finished.

        A type that is neither a model nor a plain type becomes Any.
        """
        with _building:
            group = _Group(self._namespace, self._module, self.type_of, self._reader, self._reader_of_all)
            found = group.resolve(type_)
            group.finish()
            self._namespace.update(group.made)
        return found

    def _reader(self, type_: str) -> Reader:
        resolved = self.type_of(type_)
        decode = make_decoder(resolved if resolved is Any else resolved | None).decode
        share = SHARERS.get(type_)
        if share is None:
            return decode
        keeps_bytes = bool(getattr(resolved, "__lazy_fields__", None))

        def read_and_share(raw: msgspec.Raw | bytes) -> Any:
            value = decode(raw)
            if value is not None:
                share(value)
                if keeps_bytes and type(raw) is msgspec.Raw:  # not compressed
                    value._source = raw
            return value

        return read_and_share

    def _reader_of_all(self, type_: str) -> Reader | None:
        with _building:
            if not can_retype():
                return None
            found, settle = twin_of(type_, self.type_of)
            decode = make_decoder(found if found is Any else found | None).decode
        share = SHARERS.get(type_)

        def read(raw: msgspec.Raw | bytes) -> Any:
            value = decode(raw)
            if value is None:
                return None
            if settle is not None:
                value = settle(value)
            if share is not None:
                share(value)
            return value

        return read


class _Group:
    """
    Models that are built together, and are not published yet.

    :param finished: the models that are published already
    """

    def __init__(
        self,
        finished: MutableMapping[str, Any],
        module: str,
        type_of: Callable[[str], Any],
        make_reader: Callable[[str], Reader],
        make_reader_of_all: Callable[[str], Reader | None],
    ):
        self.made: dict[str, type[Model]] = {}
        self._finished = finished
        self._module = module
        self._type_of = type_of
        self._make_reader = make_reader
        self._make_reader_of_all = make_reader_of_all
        self._under_way: set[str] = set()
        #: Fields whose type is being built by a caller: the model, attribute and type.
        self._open: list[tuple[str, str, str]] = []

    def build(self, name: str, shape: Shape) -> type[Model]:
        types, json_names = shape
        lazy = [attribute for attribute, type_ in types.items() if is_lazy(attribute, type_, types)]
        if not slots_can_be_covered():
            lazy = []
        self._under_way.add(name)
        fields: list[tuple[str, Any, Any]] = [
            (attribute, msgspec.Raw if attribute in lazy else self._annotation(name, attribute, type_), None)
            for attribute, type_ in types.items()
        ]
        micro_times = frozenset(attribute for attribute in types if (name, attribute) in MICRO_TIMES)
        methods = keeping_micro_times(micro_times) if micro_times else {}
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
            namespace={"openapi_types": types, "attribute_map": json_names, **methods},
        )
        made.__lazy_fields__ = {
            attribute: LazyField(
                made.__dict__[attribute],
                json_names[attribute],
                partial(self._type_of, types[attribute]),
                partial(self._make_reader, types[attribute]),
                partial(self._make_reader_of_all, types[attribute]),
            )
            for attribute in lazy
        }
        for attribute, field in made.__lazy_fields__.items():
            field.cover(made, attribute)
        self._under_way.discard(name)
        self.made[name] = model = cast("type[Model]", made)
        return model

    def finish(self) -> None:
        """Finish every model, so that any thread can use it."""
        for name, attribute, type_ in self._open:
            self.made[name].__annotations__[attribute] = self.resolve(type_) | None
        for model in self.made.values():
            make_decoder(model)

    def _annotation(self, model: str, attribute: str, type_: str) -> Any:
        if (model, attribute) in MICRO_TIMES:
            return MicroTime | None
        resolved = self.resolve(type_)
        if resolved is None:
            self._open.append((model, attribute, type_))
            return Any
        return resolved if resolved is Any else resolved | None

    def resolve(self, type_: str) -> Any:
        """The Python type of a type; None if it contains a model that is being built by a caller."""
        if type_ in _SCALARS:
            return _SCALARS[type_]
        if container := CONTAINER.fullmatch(type_):
            inner = self.resolve(container["item"] or container["value"])
            if inner is None:
                return None
            if container["value"] and CONTAINER.fullmatch(container["value"]):
                inner |= None  # Go writes a list that is nil as null, also within a map
            # The type is known only at run time.
            return list[inner] if container["item"] else dict[str, inner]  # type: ignore[valid-type]  # see above
        if type_ in self._under_way:
            return None
        # kubernetes_asyncio refers to a few types of the discovery API by names for which it has no model.
        if type_ not in model_names():
            return Any
        found = self._finished.get(type_) or self.made.get(type_)
        return found if found is not None else self.build(type_, shape_of(type_))


@cache
def slots_can_be_covered() -> bool:
    """
    Whether a descriptor can hide a Struct's slot while msgspec goes on reading and writing the slot.

    msgspec does not guarantee this. If it does not work, no field is lazy. Everything is still right, but slower.
    """
    with _building:
        probe: Any = msgspec.defstruct("Probe", [("field", msgspec.Raw, None)])
        slot = probe.__dict__.get("field")
        if isinstance(slot, MemberDescriptorType):
            probe.field = property(lambda obj: ("covered", slot.__get__(obj)), slot.__set__)
            decoded = msgspec.json.decode(b'{"field":[1]}', type=probe)
            covered, raw = decoded.field if isinstance(decoded.field, tuple) else ("", None)
            written = msgspec.json.encode(decoded) == b'{"field":[1]}'
            if covered and written and type(raw) is msgspec.Raw and bytes(raw) == b"[1]":
                return True
    warnings.warn(
        f"msgspec {msgspec.__version__} does not let models keep fields undecoded: everything is decoded as it comes, "
        "which is slower. kinformer was tested with msgspec 0.20 to 0.22",
        RuntimeWarning,
        stacklevel=2,
    )
    return False
