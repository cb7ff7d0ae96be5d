"""Node selectors and node affinity: decide to which nodes a pod may be scheduled.

A node must have all the labels of ``nodeSelector``, and match one of the required terms. Preferred terms are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kinformer.meta import Selector, SelectorError, selector_from_set
from kinformer.meta.requirement import Operator, Requirement
from kinformer.models import V1Node, V1NodeSelector, V1NodeSelectorRequirement, V1NodeSelectorTerm, V1PodSpec

__all__ = ("NodeSelectorError", "matches_node")

_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}


class NodeSelectorError(SelectorError):
    """No term matches, and at least one term is invalid."""


def matches_node(spec: V1PodSpec, node: V1Node) -> bool:
    """
    Whether a pod with this spec may be scheduled to the node, by its node selector and required affinity.

    :raises NodeSelectorError: if no term of the affinity matches, and one is invalid
    """
    if spec.node_selector and not selector_from_set(spec.node_selector).matches(node.metadata.labels):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return required is None or _matches_terms(required, node)


def _matches_terms(selector: V1NodeSelector, node: V1Node) -> bool:
    """
    Whether a node matches one of a node selector's terms. A term without requirements matches no node.

    :raises NodeSelectorError: if no term matches, and one is invalid
    """
    errors: list[str] = []
    for term in selector.node_selector_terms or ():
        if not (term.match_expressions or term.match_fields):
            continue
        try:
            if _matches(term, node):
                return True
        except SelectorError as error:
            errors.append(str(error))
    if errors:
        raise NodeSelectorError("; ".join(errors))
    return False


def _matches(term: V1NodeSelectorTerm, node: V1Node) -> bool:
    # Both are parsed before either is matched, because a term with an error matches nothing.
    labels = Selector(_requirements(term.match_expressions or ()))
    fields = [_field(each) for each in term.match_fields or ()]
    if not labels.matches(node.metadata.labels):
        return False
    # For a node without a name, there are no fields to compare.
    known = {"metadata.name": node.metadata.name} if node.metadata.name else None
    return known is None or all((known.get(key, "") == value) is wanted for key, value, wanted in fields)


def _requirements(expressions: Iterable[V1NodeSelectorRequirement]) -> list[Requirement]:
    found = []
    for each in expressions:
        operator = _OPERATORS.get(each.operator)
        if operator is None:
            raise SelectorError(f"{each.operator!r} is not a valid node selector operator")
        found.append(Requirement.checked(each.key, operator, tuple(each.values or ())))
    return found


def _field(each: V1NodeSelectorRequirement) -> tuple[str, str, bool]:
    """A field, a value, and whether the field must have that value."""
    values: Sequence[str] = each.values or ()
    if each.operator not in ("In", "NotIn"):
        raise SelectorError(f"{each.operator!r} is not a valid operator for a field of a node: want In or NotIn")
    if len(values) != 1:
        raise SelectorError(f"the field {each.key} of a node is compared with {list(values)}: must have one element")
    return each.key, values[0], each.operator == "In"
