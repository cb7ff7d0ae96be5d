"""The selector of a scale, as client-go's scale client reads it.

A scale has its selector as a text. The server does not check the text of a custom resource, but client-go converts it
to a LabelSelector and back. So some texts make the whole scale unreadable, although a list accepts them as a selector.
"""

from __future__ import annotations

from kinformer.meta.requirement import Operator, Requirement
from kinformer.meta.selectors import Selector, SelectorError, parse_selector

__all__ = ("UnreadableScale", "read_scale_selector")

_EXACT = (Operator.EQUALS, Operator.DOUBLE_EQUALS)
_HEAD = (
    "received an object from a /scale endpoint which was not convertible to autoscaling Scale: "
    "failed to parse target selector: "
)


class UnreadableScale(Exception):
    """A scale cannot be read. The text is client-go's."""


def read_scale_selector(text: str) -> str:
    """
    Return the canonical text of the selector of a scale. If a label must have several values, the last one counts.

    :raises UnreadableScale: if the text is no selector, or no LabelSelector can say it
    """
    try:
        requirements = parse_selector(text).requirements
    except SelectorError as error:
        raise UnreadableScale(f'{_HEAD}couldn\'t parse the selector string "{text}": {error}') from error
    labels: dict[str, Requirement] = {}
    others: list[Requirement] = []
    for each in requirements:
        if each.operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
            raise UnreadableScale(f'{_HEAD}"{each.operator}" isn\'t supported in label selectors')
        if each.operator is Operator.NOT_EQUALS:
            raise UnreadableScale(f'{_HEAD}"{each.operator}" is not a valid label selector operator')
        if each.operator in _EXACT:
            labels[each.key] = Requirement(each.key, Operator.EQUALS, each.values)
        else:
            others.append(each)
    return str(Selector([*labels.values(), *others]))
