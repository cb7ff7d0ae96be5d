"""Selectors of a request: which of a resource's objects it is about."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.envtest import status
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.storage import Version
from kinformer.envtest.strategy.base import Strategy
from kinformer.meta.fields import FieldSelector, parse_field_selector
from kinformer.meta.selectors import Selector, parse_selector

__all__ = ("Selection", "selection_of")


@dataclass(frozen=True, slots=True)
class Selection:
    """
    A label selector and a field selector; None where there is none.

    :param name: the only name that can match, if the field selector says so
    :param namespace: the only namespace that can match, likewise
    """

    labels: Selector | None
    fields: FieldSelector | None
    strategy: Strategy
    name: str | None = None
    namespace: str | None = None

    @property
    def is_everything(self) -> bool:
        return self.labels is None and self.fields is None

    @property
    def node(self) -> str | None:
        """The only node that can match; pods are found by it at once."""
        return self.fields.required_value("spec.nodeName") if self.fields is not None else None

    def matches(self, version: Version) -> bool:
        if self.labels is not None and not self.labels.matches(version.labels):
            return False
        return self.fields is None or self.fields.matches(version.fields(self.strategy.read_fields))


def selection_of(call: Call, strategy: Strategy) -> Selection:
    """
    The selectors in a request's query.

    :raises StatusError: BadRequest, for a selector that cannot be read or asks for a field that is not selectable
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
    )


def _convert(fields: FieldSelector, strategy: Strategy) -> FieldSelector:
    """Older names of fields in their present form, and only those that the kind knows."""
    requirements = []
    for requirement in fields.requirements:
        label = strategy.field_aliases.get(requirement.field, requirement.field)
        # A cluster's kind that says itself which fields it knows does not know the namespace.
        own = strategy.selectable and not strategy.resource.namespaced and not strategy.resource.is_custom
        known = ("metadata.name",) if own else ("metadata.name", "metadata.namespace")
        if label not in known and label not in strategy.selectable:
            if strategy.resource.is_custom:
                raise status.bad_request(f"field label not supported: {label}")
            raise status.bad_request(strategy.unsupported_field(label))
        requirements.append(requirement._replace(field=label))
    return FieldSelector(requirements)
