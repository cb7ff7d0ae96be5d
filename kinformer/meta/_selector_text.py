"""Parser of label selectors: ``app=web,tier in (a, b),!canary``.

The grammar is apimachinery's, including what it tolerates. An empty set of values is a set of the empty value, ``in``
and ``notin`` may be keys and values, and white space ends a word. Errors have apimachinery's texts, because servers
answer with them.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from kinformer.meta.requirement import Operator, Requirement, SelectorError, check_label_key

__all__ = ("parse_requirements",)

# White space, then a sign or a word. A NUL where a token could start ends the text. Elsewhere it ends the token,
# because Go's lexer uses NUL for the end of its input.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n\0]+))\0?")

_OPERATORS = {
    "in": Operator.IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
    "notin": Operator.NOT_IN,
    "!=": Operator.NOT_EQUALS,
}
_OPERATORS_TOLD = "in, notin, =, ==, !=, gt, lt"


class _Kind(Enum):
    WORD = auto()
    SIGN = auto()
    END = auto()


class _Token(NamedTuple):
    kind: _Kind
    text: str

    def is_sign(self, sign: str) -> bool:
        return self.kind is _Kind.SIGN and self.text == sign


_END = _Token(_Kind.END, "")


def parse_requirements(text: str) -> tuple[Requirement, ...]:
    """
    Parse the requirements of a selector, sorted by key.

    :raises SelectorError: if the text is not a selector
    """
    return tuple(sorted(_Parser(text).parse(), key=lambda requirement: requirement.key))


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._position = 0

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while (token := self._peek()).kind is not _Kind.END:
            if not _starts_requirement(token):
                raise SelectorError(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            token = self._next()
            if token.kind is _Kind.END:
                break
            if not token.is_sign(","):
                raise SelectorError(f"found '{token.text}', expected: ',' or 'end of string'")
            if not _starts_requirement(self._peek()):
                raise SelectorError(f"found '{self._peek().text}', expected: identifier after ','")
        return requirements

    def _peek(self) -> _Token:
        return self._tokens[self._position]

    def _next(self) -> _Token:
        token = self._tokens[self._position]
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _requirement(self) -> Requirement:
        token = self._next()
        negated = token.is_sign("!")
        if negated:
            token = self._next()
        if token.kind is not _Kind.WORD:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        key = token.text
        check_label_key(key)
        if negated:
            return Requirement.checked(key, Operator.DOES_NOT_EXIST)
        if self._peek() is _END or self._peek().is_sign(","):
            return Requirement.checked(key, Operator.EXISTS)

        token = self._next()
        operator = _OPERATORS.get(token.text)
        if operator is None:
            raise SelectorError(f"found '{token.text}', expected: {_OPERATORS_TOLD}")
        if operator in (Operator.IN, Operator.NOT_IN):
            values = self._set_of_values()
        else:
            values = {self._exact_value()}
        return Requirement.checked(key, operator, tuple(sorted(values)))

    def _exact_value(self) -> str:
        token = self._peek()
        if token is _END or token.is_sign(","):
            return ""
        token = self._next()
        if token.kind is not _Kind.WORD:
            raise SelectorError(f"found '{token.text}', expected: identifier")
        return token.text

    def _set_of_values(self) -> set[str]:
        token = self._next()
        if not token.is_sign("("):
            raise SelectorError(f"found '{token.text}' expected: '('")
        token = self._peek()
        if token.is_sign(")"):
            self._next()
            return {""}
        if token.kind is not _Kind.WORD and not token.is_sign(","):
            raise SelectorError(f"found '{token.text}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            token = self._next()
            following = self._peek()
            if token.kind is _Kind.WORD:
                values.add(token.text)
                if following.is_sign(")"):
                    break
                if not following.is_sign(","):
                    raise SelectorError(f"found '{following.text}', expected: ',' or ')'")
            elif token.is_sign(","):
                # A comma that has no word before it or after it adds the empty value.
                if not values or following.is_sign(",") or following.is_sign(")"):
                    values.add("")
                if following.is_sign(")"):
                    break
            else:
                raise SelectorError(f"found '{token.text}', expected: ',', or identifier")
        self._next()
        return values


def _starts_requirement(token: _Token) -> bool:
    return token.kind is _Kind.WORD or token.is_sign("!")


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        tokens.append(_Token(_Kind.SIGN, match[1]) if match[1] else _Token(_Kind.WORD, match[2]))
    tokens.append(_END)
    return tokens
