"""The selectors of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kinformer.envtest import status
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.storage import Version
from kinformer.envtest.strategy.base import Strategy
from kinformer.meta.fields import FieldSelector, parse_field_selector
from kinformer.meta.selectors import Selector, parse_selector
from kinformer.meta.shards import ShardSelector, ShardSelectorError, parse_shard_selector

__all__ = ("Selection", "selection_of")


class _Meta(msgspec.Struct, gc=False):
    uid: str = ""
    namespace: str = ""


class _Identity(msgspec.Struct, gc=False):
    metadata: _Meta


_decode_identity = msgspec.json.Decoder(_Identity).decode


def _identity(raw: bytes) -> tuple[str, str]:
    metadata = _decode_identity(raw).metadata
    return metadata.uid, metadata.namespace


@dataclass(frozen=True, slots=True)
class Selection:
    """
    A label selector, a field selector and a shard selector. Each is None if the request does not have it.

    :param name: the only name that can match, if the field selector has one
    :param namespace: the only namespace that can match, if the field selector has one
    """

    labels: Selector | None
    fields: FieldSelector | None
    strategy: Strategy
    name: str | None = None
    namespace: str | None = None
    shard: ShardSelector | None = None

    @property
    def is_everything(self) -> bool:
        return self.labels is None and self.fields is None and self.shard is None

    @property
    def node(self) -> str | None:
        """The only node that can match. Pods are found by their node without a search."""
        return self.fields.required_value("spec.nodeName") if self.fields is not None else None

    def matches(self, version: Version) -> bool:
        if self.labels is not None and not self.labels.matches(version.labels):
            return False
        if self.fields is not None and not self.fields.matches(version.fields(self.strategy.read_fields)):
            return False
        return self.shard is None or self.shard.matches(*_identity(version.raw))


def selection_of(call: Call, strategy: Strategy, causes: Sequence[status.Cause] = ()) -> Selection:
    """
    The selectors in a request's query.

    :param causes: the errors of the other options. They are told after selectors that cannot be parsed, and before
        fields that are not selectable

    :raises StatusError: BadRequest for a field or label selector that cannot be parsed, or that names a field that is
        not selectable. 500 for a shard selector that cannot be parsed, as in kube-apiserver
    """
    query = call.query
    labels = fields = None
    try:
        if text := query.get("labelSelector"):
            labels = parse_selector(text)
        if text := query.get("fieldSelector"):
            fields = parse_field_selector(text)
    except ValueError as error:
        raise status.bad_request(str(error)) from None
    if causes:
        raise status.invalid_options("ListOptions", *causes)
    shard = None
    if text := query.get("shardSelector"):
        try:
            shard = parse_shard_selector(text)
        except ShardSelectorError as error:
            raise status.StatusError(500, "", f"invalid shard selector: {error}") from None
    name = namespace = None
    if fields is not None and not fields.is_empty:
        fields = _convert(fields, strategy)
        name = fields.required_value("metadata.name")
        namespace = fields.required_value("metadata.namespace")
    return Selection(
        labels if labels is not None and not labels.is_empty else None,
        fields if fields is not None and not fields.is_empty else None,
        strategy,
        name or None,
        namespace or None,
        shard,
    )


def _convert(fields: FieldSelector, strategy: Strategy) -> FieldSelector:
    """Replace old names of fields by the present ones, and refuse fields that the kind does not have."""
    requirements = []
    for requirement in fields.requirements:
        label = strategy.field_aliases.get(requirement.field, requirement.field)
        # A built-in, cluster-scoped kind with its own list of selectable fields does not have the namespace as a field.
        own = strategy.selectable and not strategy.resource.namespaced and not strategy.resource.is_custom
        known = ("metadata.name",) if own else ("metadata.name", "metadata.namespace")
        if label not in known and label not in strategy.selectable:
            if strategy.resource.is_custom:
                raise status.bad_request(f"field label not supported: {label}")
            raise status.bad_request(strategy.unsupported_field(label))
        requirements.append(requirement._replace(field=label))
    return FieldSelector(requirements)
