"""Validation rules: the ``x-kubernetes-validations`` of custom resources.

The rules of a schema are compiled once, with the types that the schema declares. :func:`compile_rules` finds errors in
them when a definition is written. :class:`Rules` checks objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kinformer.envtest.causes import duplicate, forbidden, invalid, required
from kinformer.envtest.custom.paths import normal_path
from kinformer.envtest.custom.structural import NOWHERE, by_key, children, key_of
from kinformer.envtest.status import Cause
from kinformer.expressions import CompileError, Environment, EvaluationError, Program, Types, to_cel
from kinformer.logs import get_logger

__all__ = ("RULES", "CompiledRule", "Rules", "compile_rules", "has_rules", "told_by")

log = get_logger(__name__)

Schema = Mapping[str, Any]

RULES = "x-kubernetes-validations"
# Values from Python cannot be optional values of CEL. So the expression makes the optional value when it runs.
_AS_OPTIONAL = "cel.bind(oldSelf, hasOldSelf ? optional.of(oldSelf) : optional.none(), "
_LONGEST_MESSAGE = 5 * 1024
_says_old_self = re.compile(r"\boldSelf\b").search
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
#: If the schema finds one of these problems, the rules are not checked. They may rely on what the schema promises.
_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)


def has_rules(schema: Any) -> bool:
    """Whether a schema, or one within it, has rules."""
    if not isinstance(schema, Mapping):
        return False
    return bool(schema.get(RULES)) or any(has_rules(below) for _, below in children(schema))


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """
    A compiled rule.

    :param program: None if the rule does not compile
    :param error: the error of the compiler
    :param uses_old: whether the rule uses `oldSelf`, so that it checks a change
    :param field: the path of the field that the error names, below the value of the rule
    """

    rule: Mapping[str, Any]
    program: Program | None = None
    error: str = ""
    uses_old: bool = False
    message: Program | None = None
    message_error: str = ""
    field: str = ""

    @property
    def is_about_beginnings(self) -> bool:
        """Whether `oldSelf` is an optional value. The rule then checks new values too."""
        return bool(self.rule.get("optionalOldSelf"))

    @property
    def text(self) -> str:
        """The rule as errors show it."""
        return str(self.rule.get("message") or self.rule.get("rule") or "").strip()


def compile_rules(schema: Schema, *, is_root: bool = False) -> list[CompiledRule]:
    """Compile the rules of a schema, without those of the schemas below it."""
    types = Types()
    self_type = types.of_schema(schema, is_root=is_root)
    if self_type is None:
        error = "failed to convert to declType for CEL validation rules"
        return [CompiledRule(rule, error=error) for rule in schema.get(RULES) or ()]
    without = Environment(types, {"self": self_type})
    return [_compile(rule, schema, types, self_type, without) for rule in schema.get(RULES) or ()]


def _compile(
    rule: Mapping[str, Any], schema: Schema, types: Types, self_type: Any, without: Environment
) -> CompiledRule:
    text, message = str(rule.get("rule") or ""), str(rule.get("messageExpression") or "")
    if not text.strip():
        return CompiledRule(rule)
    environment, before = without, ""
    if _says_old_self(text) or _says_old_self(message):
        environment = Environment(types, {"self": self_type, "oldSelf": self_type, "hasOldSelf": None})
        before = _AS_OPTIONAL if rule.get("optionalOldSelf") else ""
    try:
        program = environment.compile(text, before)
    except CompileError as error:
        return CompiledRule(rule, error=f"compilation failed: {error}")
    if program.type != "bool":
        return CompiledRule(rule, error="cel expression must evaluate to a bool")
    told, message_error = None, ""
    if message:
        try:
            told = environment.compile(message, before)
        except CompileError as error:
            message_error = f"messageExpression compilation failed: {error}"
        else:
            message_error = "" if told.type == "string" else "messageExpression must evaluate to a string"
    field = normal_path(rule["fieldPath"], schema) if rule.get("fieldPath") else None
    return CompiledRule(rule, program, "", _uses(without, text), told, message_error, field or "")


def _uses(without: Environment, text: str) -> bool:
    """Whether a valid expression uses the variable `oldSelf`. It may also contain the word only in a string."""
    if not _says_old_self(text):
        return False
    try:
        without.compile(text)
    except CompileError:
        return True
    return False


class Rules:
    """
    The rules of a schema and of all schemas below it.

    :param only: the schema that has the rules, if it is not `schema` itself, for example an item of its ``allOf``
    """

    def __init__(self, schema: Schema, *, is_root: bool = False, only: Schema | None = None):
        of_rules = schema if only is None else only
        self._schema = schema
        self._is_root = is_root
        self._rules = compile_rules({**schema, RULES: of_rules.get(RULES)}, is_root=is_root)
        self._properties: dict[str, Rules] = {}
        for name, one in (of_rules.get("properties") or {}).items():
            described = (schema.get("properties") or {}).get(name)
            if described is not None and has_rules(one):
                self._properties[name] = _below(described, one)
        self._items = self._part("items", of_rules)
        self._additional = self._part("additionalProperties", of_rules)
        all_of = [one for one in of_rules.get("allOf") or () if has_rules(one)]
        self._all_of = [Rules(schema, is_root=is_root, only=one) for one in all_of]

    def _part(self, name: str, of_rules: Schema) -> Rules | None:
        one, described = of_rules.get(name), self._schema.get(name)
        return _below(described, one) if has_rules(one) and isinstance(described, Mapping) else None

    def check(self, value: Any, old: Any, known: list[Cause]) -> Iterator[Cause]:
        """
        Check an object.

        :param old: the object before the change. None for a new one
        :param known: the problems that the schema has found
        """
        if any(cause.reason in _BLOCKING for cause in known):
            yield invalid(NOWHERE, None, _NOT_CHECKED)
        else:
            yield from self._check(value, old, "", is_same=old is not None and value == old)

    def _check(self, value: Any, old: Any, path: str, *, is_same: bool) -> Iterator[Cause]:
        if value is None:
            return
        if self._rules:
            yield from self._evaluate(value, old, path, is_same=is_same)
        for one in self._all_of:
            yield from one._check(value, old, path, is_same=False)
        if isinstance(value, list) and self._items is not None:
            yield from self._check_items(value, old, path, is_same=is_same)
        elif isinstance(value, dict):
            old_map = old if isinstance(old, dict) else {}
            if self._additional is not None:
                for key, item in value.items():
                    yield from _step(self._additional, item, old_map.get(key), f"{path}[{key}]", is_same=is_same)
            for key, rules in self._properties.items():
                if key in value:
                    here = f"{path}.{key}" if path else key
                    yield from _step(rules, value[key], old_map.get(key), here, is_same=is_same)

    def _check_items(self, value: list[Any], old: Any, path: str, *, is_same: bool) -> Iterator[Cause]:
        assert self._items is not None
        before = by_key(old if isinstance(old, list) else [], self._schema)
        for index, item in enumerate(value):
            known = before.get(key_of(item, self._schema)) if before else None
            yield from _step(self._items, item, known, f"{path}[{index}]", is_same=is_same)

    def _evaluate(self, value: Any, old: Any, path: str, *, is_same: bool) -> Iterator[Cause]:
        where, type_ = path or NOWHERE, str(self._schema.get("type") or "")
        try:
            values = {"self": to_cel(value, self._schema, is_root=self._is_root), "oldSelf": None, "hasOldSelf": False}
            if old is not None:
                values |= {"oldSelf": to_cel(old, self._schema, is_root=self._is_root), "hasOldSelf": True}
        except ValueError as error:
            yield invalid(where, type_, f"{error} evaluating rule: {self._rules[0].text}")
            return
        for rule in self._rules:
            if rule.error:
                yield invalid(where, type_, f"rule compile error: {rule.error}")
            if rule.program is None or (rule.uses_old and old is None and not rule.is_about_beginnings):
                continue
            # Rules without `oldSelf` are not checked again for an unchanged value.
            if is_same and not rule.uses_old:
                continue
            try:
                if rule.program.evaluate(values) is True:
                    continue
            except EvaluationError as error:
                yield _failure(where, type_, rule, error)
                continue
            below = f"{path}.{rule.field}" if path and rule.field else rule.field
            yield _refusal(below or where, value, _message(rule, values), rule.rule.get("reason"))


def _below(described: Schema, rules: Any) -> Rules:
    return Rules(described, is_root=bool(described.get("x-kubernetes-embedded-resource")), only=rules)


def _step(rules: Rules, value: Any, old: Any, path: str, *, is_same: bool) -> Iterator[Cause]:
    return rules._check(value, old, path, is_same=is_same or (old is not None and value == old))


def _failure(where: str, type_: str, rule: CompiledRule, error: EvaluationError) -> Cause:
    if str(error).startswith("no such overload"):
        text = f"'{error}': call arguments did not match a supported operator, function or macro signature for rule"
        return invalid(where, type_, f"{text}: {rule.text}")
    return invalid(where, type_, f"{error} evaluating rule: {rule.text}")


def _message(rule: CompiledRule, values: Mapping[str, Any]) -> str:
    if rule.message is not None and (said := told_by(rule.message, lambda message: message.evaluate(values))):
        return said
    return rule.text if rule.rule.get("message") else f"failed rule: {rule.text}"


def told_by(message: Program, evaluate: Callable[[Program], Any]) -> str:
    """The text that a message expression makes. Empty if it fails, or makes no text that an error can have."""
    try:
        said = evaluate(message)
    except EvaluationError as error:
        log.info("message_expression_failed", expression=message.text, error=str(error))
        return ""
    said = said.strip() if isinstance(said, str) else ""
    return said if "\n" not in said and len(said.encode()) <= _LONGEST_MESSAGE else ""


def _refusal(where: str, value: Any, detail: str, reason: Any) -> Cause:
    match reason:
        case "FieldValueForbidden":
            return forbidden(where, detail)
        case "FieldValueRequired":
            return required(where, detail)
        case "FieldValueDuplicate":
            if isinstance(value, dict | list):
                return Cause(where, "FieldValueDuplicate", "Duplicate value")
            return duplicate(where, value)
    if isinstance(value, dict | list):
        # Errors do not show objects and lists.
        return Cause(where, "FieldValueInvalid", f"Invalid value: {detail}")
    return invalid(where, value, detail)
