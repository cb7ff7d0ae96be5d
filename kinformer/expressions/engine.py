"""Environments, which compile expressions, and the compiled programs.

An expression is compiled twice. The first time it has the declared types, and finds the errors that Kubernetes' type
checker finds. The second time it has no types, and this result is what runs. The reason is that values of the library
can only be CEL's own. So Kubernetes' quantities, URLs and addresses are maps at run time; see :mod:`.library`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

# Importing these three declares their functions.
import kinformer.expressions.access
import kinformer.expressions.functions
import kinformer.expressions.network  # noqa: F401
from kinformer.expressions.library import ACCESS, AccessCheck, checked_functions, running_functions
from kinformer.expressions.operands import with_operands
from kinformer.expressions.packages import load_cel
from kinformer.expressions.types import Types, as_message

__all__ = ("CompileError", "Environment", "EvaluationError", "Program")

_EXTENSIONS = ("lists", "optional", "sets", "strings", "two-var-comprehensions")
_CODE = re.compile(r"^[A-Z_]+: ")
_TRAILING = re.compile(r" \[[A-Z_]+\]$")
#: Kubernetes' types of values without fields.
_VALUES = "CIDR|IP|NamedFormat|Quantity|Semver|URL"
#: The error texts of the C++ implementation, and cel-go's texts for the same errors.
_COMPILE_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"undefined field '[^']*' not found in struct 'kubernetes\.(Authorizer|\w+Check|Decision)'"),
        r"unexpected failed resolution of 'kubernetes.authorization.\1'",
    ),
    (
        re.compile(rf"undefined field '[^']*' not found in struct 'kubernetes\.({_VALUES})'"),
        r"unexpected failed resolution of 'kubernetes.\1'",
    ),
    (re.compile(r"\bkubernetes\.(CIDR|IP)\b"), r"net.\1"),
    (re.compile(r"google\.protobuf\.Timestamp"), "timestamp"),
    (re.compile(r"google\.protobuf\.Duration"), "duration"),
    (re.compile(r"undefined field '([^']*)' not found in struct '[^']*'"), r"undefined field '\1'"),
    (
        re.compile(r"expression of type '([^']*)' cannot be the operand of a select operation"),
        r"type '\1' does not support field selection",
    ),
)
#: One error of the compiler: the place, the text, the line, and a mark below the place.
_UNDECLARED = re.compile(
    r"(?P<place><input>:\d+:)(?P<column>\d+): undeclared reference to '(?P<name>\w+)\.(?P<rest>[\w.]+)'"
    r"(?P<end>[^\n]*\n \|[^\n]*\n \| )\.*\^"
)
#: A call without a fitting function: its name, the types of target and arguments, the line, the mark below the place.
_NO_OVERLOAD = re.compile(
    r"(?P<told>no matching overload for '(?P<name>\w+)' applied to ')\((?P<types>[^'\n]*)\)"
    r"(?P<end>'\n \| (?P<line>[^\n]*)\n \| (?P<dots>\.*)\^)"
)
_RUN_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r'Key not found in map : "?(.*?)"?'), r"no such key: \1"),
    (re.compile(r"No matching overloads found : .*"), "no such overload"),
    (re.compile(r"Applying SELECT to non-message type"), "no such overload"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r"Index error: expected integer type, got (.*)"), r"unsupported index type '\1' in list"),
)
_FIRST_LINE = re.compile(r"<input>:1:(\d+):")


class CompileError(Exception):
    """An expression is invalid. The text is cel-go's."""


class EvaluationError(Exception):
    """The evaluation of an expression has failed. The text is cel-go's."""


@cache
def _configuration(*more: str) -> Any:
    cel = load_cel()
    listed = "".join(f"  - name: {name}\n" for name in (*_EXTENSIONS, *more))
    return cel.NewEnvConfigFromYaml(f"name: kubernetes\nextensions:\n{listed}")


class Environment:
    """
    Compiles expressions that have the same variables.

    :param variables: the types of the variables. None for any type
    """

    def __init__(self, types: Types, variables: Mapping[str, Any]):
        cel = load_cel()
        self._variables = {name: cel.Type.DYN if type_ is None else type_ for name, type_ in variables.items()}
        self._types = types
        self._checking: dict[tuple[str, ...], Any] = {}
        self._running = cel.NewEnv(
            config=_configuration("bindings"),
            variables=dict.fromkeys(self._variables, cel.Type.DYN),
            extensions=[cel.CelExtension("kubernetes", running_functions())],
        )

    def _checker(self, *more: str) -> Any:
        cel = load_cel()
        if more not in self._checking:
            self._checking[more] = cel.NewEnv(
                descriptor_pool=self._types.pool,
                config=_configuration(*more),
                variables=self._variables,
                extensions=[cel.CelExtension("kubernetes", checked_functions())],
            )
        return self._checking[more]

    def compile(self, text: str, before: str = "") -> Program:
        """
        Compile an expression.

        :param before: the beginning of a call. The expression is the call's last argument
        :raises CompileError: the text has the problem and its place
        """
        whole = f"{before}{text}\n)" if before else text
        try:
            checked = (self._checker("bindings") if before else self._checker()).compile(whole)
        except RuntimeError as error:
            told = with_operands(_without_codes(str(error)), whole, self._parsed)
            raise CompileError(_compile_words(told, before)) from None
        try:
            running = self._running.compile(whole)
        except RuntimeError:
            # A few expressions compile only with the declared types.
            running = self._running.compile(whole, disable_check=True)
        return Program(text, running, checked.return_type())

    def _parsed(self, text: str) -> bytes:
        parsed: bytes = self._running.compile(text, disable_check=True).serialize()
        return parsed


class Program:
    """
    A compiled expression.

    :ivar type: the type of the result, in Kubernetes' words: ``bool``, ``list(string)``
    :ivar declared: the type of the result, for the type checker
    """

    def __init__(self, text: str, expression: Any, declared: Any):
        self.text = text
        self.declared = declared
        self.type = _type_words(declared.name())
        self._expression = expression

    def evaluate(self, values: Mapping[str, Any], access: AccessCheck | None = None) -> Any:
        """
        Evaluate the expression.

        :param values: the values of the variables
        :param access: says what the user may do
        :raises EvaluationError: if the evaluation fails
        """
        token = ACCESS.set(access)
        try:
            result = self._expression.eval(data=values)
            if result.type().name() == "ERROR":
                raise EvaluationError(_run_words(str(result.value())))
            return _nested(result.plain_value())
        except (RuntimeError, TypeError) as error:
            raise EvaluationError(_run_words(str(error))) from None
        finally:
            ACCESS.reset(token)


def _nested(value: Any) -> Any:
    """Convert a result to a value that another expression accepts."""
    if isinstance(value, dict):
        return {key: _nested(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return as_message(value) if isinstance(value, datetime | timedelta) else value


def _without_consequences(text: str) -> str:
    """
    Leave out errors about values that are errors themselves, which cel-go does not report.

    An error begins with ``ERROR:`` and goes on to the next one.
    """
    errors = re.split(r"(?m)^(?=ERROR: )", text)
    return "".join(one for one in errors if "'*error*'" not in one.partition("\n")[0]).rstrip("\n")


def _translate(text: str, words: tuple[tuple[re.Pattern[str], str], ...], apply: Callable[..., Any]) -> str:
    for pattern, replacement in words:
        text = apply(pattern, replacement, text)
    return text


def _without_codes(text: str) -> str:
    return _TRAILING.sub("", _CODE.sub("", text))


def _compile_words(text: str, before: str) -> str:
    if before:
        # The places in errors are places in the expression itself, without the text before it.
        shift = len(before)
        text = _FIRST_LINE.sub(lambda found: f"<input>:1:{int(found[1]) - shift}:", text)
        text = text.replace(f" | {before}", " | ")
        text = re.sub(rf"(?m)^ \| \.{{{shift}}}(\.*\^)$", r" | \1", text)
    text = _NO_OVERLOAD.sub(_with_target, _without_consequences(text))
    return _UNDECLARED.sub(_first_name, _translate(text, _COMPILE_WORDS, re.sub))


def _first_name(found: re.Match[str]) -> str:
    """For an unknown name with dots, cel-go reports the first part of the name, at its place."""
    column = int(found["column"]) - len(f"{found['name']}.{found['rest']}".rpartition(".")[0])
    told = f"{found['place']}{column}: undeclared reference to '{found['name']}'"
    return f"{told}{found['end']}{'.' * (column - 1)}^"


def _with_target(found: re.Match[str]) -> str:
    """For ``target.call(argument)``, cel-go reports the target's type before those of the arguments."""
    # The mark is below the bracket after the name.
    if not found["line"][: len(found["dots"])].endswith(f".{found['name']}"):
        return found[0]
    depth = 0
    for end, character in enumerate(types := found["types"]):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            return f"{found['told']}{types[:end]}.({types[end + 2 :]}){found['end']}"
    return f"{found['told']}{types}.(){found['end']}"


def _run_words(text: str) -> str:

    def whole(pattern: re.Pattern[str], replacement: str, said: str) -> str:
        found = pattern.fullmatch(said)
        return found.expand(replacement) if found is not None else said

    return _translate(_without_codes(text), _RUN_WORDS, whole)


def _type_words(name: str) -> str:
    if name.startswith(("kubernetes.", "google.")):
        return name
    if name.startswith("schema"):
        return "object"
    return name.replace("<", "(").replace(">", ")").lower()
