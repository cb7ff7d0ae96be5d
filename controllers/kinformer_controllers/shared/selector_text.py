"""Formatting a label selector for messages as Kubernetes does: in the form in which Go prints its API types."""

from __future__ import annotations

from kinformer.models import V1LabelSelector

__all__ = ("selector_text",)


def selector_text(selector: V1LabelSelector | None) -> str:
    """For example ``&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:…{},}``."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.match_labels or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.key},Operator:{one.operator},Values:[{' '.join(one.values or ())}],}},"
        for one in selector.match_expressions or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
