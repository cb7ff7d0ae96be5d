"""The typed objects of the API: ``from kinformer.models import V1Pod``.

Every model of kubernetes_asyncio is here under its name, with the same attributes. Each is a :class:`msgspec.Struct`
that is decoded in one pass from the server's bytes; see :mod:`kinformer.models._base` for its guarantees. A model is
made at its first use, from kubernetes_asyncio's own metadata and without importing that library. Type checkers and
editors know every attribute from ``_models.pyi``, which is made from the same metadata (``python -m
tests.models.stubs``).
"""

from __future__ import annotations

from typing import Any, TypeVar

from kinformer.meta import GroupVersionKind
from kinformer.models import _build, _resources, _source
from kinformer.models._base import Model
from kinformer.models._complete import complete
from kinformer.models._compressed import COMPRESSION_MISSING, compression_is_possible
from kinformer.models._compression import Compression, compression_of
from kinformer.models._decoding import decode, decoder_for, from_dict
from kinformer.models._encoding import MicroTime, encode, to_dict
from kinformer.models._errors import DECODE_ERRORS, Fault, ObjectDecodeError, fault_of
from kinformer.models._identity import Identity, identity_of, items_of, members_of
from kinformer.models._keeping import detacher_for, interner_for, successor_for
from kinformer.models._kept import KeptForm, kept_form_of
from kinformer.models._lazy_dict import KnownParts, LazyDict, Parts, lazy_dict, lazy_dict_of_known
from kinformer.models._misfits import misfits
from kinformer.models._open import OpenStruct, is_open, whole
from kinformer.models._packed import json_of
from kinformer.models._resources import ResourceInfo, builtin_resources
from kinformer.models._semantic import semantically_equal
from kinformer.models._unknown import unknown_fields

__all__ = (
    "COMPRESSION_MISSING",
    "DECODE_ERRORS",
    "Compression",
    "Fault",
    "Identity",
    "KeptForm",
    "KnownParts",
    "LazyDict",
    "MicroTime",
    "Model",
    "ObjectDecodeError",
    "OpenStruct",
    "PartialObjectMetadata",
    "Parts",
    "ResourceInfo",
    "builtin_resources",
    "complete",
    "compression_is_possible",
    "compression_of",
    "decode",
    "decoder_for",
    "detacher_for",
    "encode",
    "fault_of",
    "from_dict",
    "identity_of",
    "interner_for",
    "is_open",
    "items_of",
    "json_of",
    "kept_form_of",
    "lazy_dict",
    "lazy_dict_of_known",
    "members_of",
    "misfits",
    "model_for",
    "resource_for",
    "semantically_equal",
    "successor_for",
    "to_dict",
    "unknown_fields",
    "whole",
    # So that ``from kinformer.models import *`` brings the models, as type checkers think.
    *_source.model_names(),
)

T = TypeVar("T")

_builder = _build.Builder(globals(), __name__)

#: What the server sends to clients that ask for the metadata only.
PartialObjectMetadata = _builder.build(
    "PartialObjectMetadata",
    _source.Shape(
        {"api_version": "str", "kind": "str", "metadata": "V1ObjectMeta"},
        {"api_version": "apiVersion", "kind": "kind", "metadata": "metadata"},
    ),
)


def resource_for(type_: type[Any]) -> ResourceInfo:
    """
    The resource of a type: a model, or a custom resource that declares it.

    A type declares it by its class attribute ``__resource__``; :class:`kinformer.operator.CustomResource` sets it.

    :raises LookupError: if it is not known: for other types, and for models that are parts of others
    :raises TypeError: if it is no class
    """
    if not isinstance(type_, type):
        raise TypeError(f"{type_!r} is no class: want a model such as V1Pod, or a class of a custom resource")
    declared = getattr(type_, "__resource__", None)
    if isinstance(declared, ResourceInfo):
        return declared
    try:
        return _resources.resource_of(type_.__name__ if issubclass(type_, Model) else "")
    except KeyError:
        raise LookupError(
            f"{type_.__qualname__} has no known resource: want a model such as V1Pod or a class of a custom resource, "
            "or name its group, version and plural as well, as in resource(MyStruct, V1Pod)"
        ) from None


def model_for(gvk: GroupVersionKind) -> type[Model]:
    """
    The model of a kind.

    :raises LookupError: if there is none, as for custom resources
    """
    try:
        name = _resources.model_name_of(gvk)
    except KeyError:
        raise LookupError(f"there is no model for {gvk}") from None
    return _builder.model(name)


def __getattr__(name: str) -> Any:
    # Import machinery and tools ask for dunder names; none of them is a model.
    if not name.startswith("_") and name in _source.model_names():
        return _builder.model(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_source.model_names()})
