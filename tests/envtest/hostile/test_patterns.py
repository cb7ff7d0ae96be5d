"""Regular expressions, the users' and the server's own: each takes time in proportion to the text."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
import subprocess
import sys
import time
from itertools import count
from typing import Any

import pytest

import kinformer
from kinformer.expressions import patterns
from kinformer.expressions.formats import fits
from kinformer.expressions.patterns import BadPattern, TooMuchWork, compile_pattern, find_all
from tests.definitions import DEFINITIONS, definition
from tests.envtest.hostile.victim import Answer, Victim

_numbers = count()


def define(attacked: Victim, of_text: dict[str, Any], rules: list[dict[str, str]] | None = None) -> tuple[Answer, str]:
    """A resource with one text in it, and where its objects are."""
    name = f"t{next(_numbers)}"
    spec: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", **of_text}}}
    if rules:
        spec["x-kubernetes-validations"] = rules
    schema = {"type": "object", "properties": {"spec": spec}}
    return attacked("POST", DEFINITIONS, definition(f"{name}s", name.upper(), "ex.io", schema=schema)), name


def store(attacked: Victim, name: str, text: str) -> Answer:
    body = {"apiVersion": "ex.io/v1", "kind": name.upper(), "metadata": {"name": "o"}, "spec": {"a": text}}
    return attacked("POST", f"/apis/ex.io/v1/namespaces/default/{name}s", body)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 30 + "!"),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 40),
        ("(x+x+)+y", "x" * 30),
        ("^(a|a)*$", "a" * 100_000 + "!"),
        ("((a{0,30}){0,30})y$", "a" * 100_000),
    ],
)
def test_no_pattern_of_a_schema_hangs_the_server(attacked: Victim, pattern: str, text: str) -> None:
    defined, name = define(attacked, {"pattern": pattern})
    assert defined.code == 201
    stored = store(attacked, name, text)
    assert stored.code == 422
    assert f"should match '{pattern}'" in stored.message


@pytest.mark.parametrize(
    "rule",
    ["self.a.find('(a+)+$') == 'x'", "self.a.findAll('(a|a)*$').size() == 0", "self.a.matches('^(a+)+$')"],
)
def test_no_pattern_of_a_rule_hangs_the_server(attacked: Victim, rule: str) -> None:
    defined, name = define(attacked, {}, [{"rule": rule}])
    assert defined.code == 201, defined
    assert store(attacked, name, "a" * 5_000 + "!").code == 422


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?P<x>a)(?P=x)", "invalid or unsupported Perl syntax: `(?P`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("[", "missing closing ]: `[`"),
        ("(", "missing closing ): `(`"),
        (r"a\Z", r"invalid escape sequence: `\Z`"),
    ],
)
def test_what_is_no_pattern_is_said_as_go_says_it(attacked: Victim, pattern: str, why: str) -> None:
    defined, _ = define(attacked, {"pattern": pattern})
    assert defined.code == 422
    assert f"must be a valid regular expression, but isn't: error parsing regexp: {why}" in defined.message


def test_a_huge_repeat_is_answered(attacked: Victim) -> None:
    defined, name = define(attacked, {"pattern": r"\d{1,99999999999}"})
    assert defined.code in (201, 422)
    assert attacked.is_well()
    assert name


def test_patterns_mean_what_they_mean_in_go() -> None:
    assert compile_pattern(r"^a\z").search("a\n") is None
    assert compile_pattern(r"^\d$").search("\u0663") is None  # digits are ASCII digits
    assert compile_pattern(r"^\pL$").search("\u00e9") is not None
    assert compile_pattern(r"^[[:word:]]+$").search("a_1") is not None


def test_finding_all_matches_in_a_long_text_is_bounded() -> None:
    assert find_all(compile_pattern("a."), "ab" * 3) == ["ab", "ab", "ab"]
    assert find_all(compile_pattern("a."), "ab" * 3, 2) == ["ab", "ab"]
    assert find_all(compile_pattern("a."), "ab", 0) == []
    with pytest.raises(TooMuchWork, match="cost limit exceeded"):
        find_all(compile_pattern("a.*b|a"), "a" * 100_000)


def test_where_patterns_cannot_be_compiled_a_definition_with_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from kinformer.envtest.custom.schemas import _values

    monkeypatch.setattr(patterns, "is_available", lambda: False)
    told = list(_values({"type": "string", "pattern": "never compiled before"}, "spec"))
    assert [(one.field, one.message) for one in told] == [
        (
            "spec.pattern",
            "Forbidden: patterns need the package of the extra `envtest`: pip install 'kinformer[envtest]'",
        )
    ]
    with pytest.raises(BadPattern, match="need the package"):
        compile_pattern("never compiled before")


@pytest.mark.parametrize(
    ("form", "text", "is_one"),
    [
        *(("duration", "1s" * 40 + "!", True), ("duration", "1" * 60 + "!", False), ("duration", "x", False)),
        *(("duration", "3 days", True), ("duration", "1h30m", True), ("duration", "-1.5h", True)),
        *(("duration", "1 fortnight", False), ("duration", "9" * 30 + " s", False), ("duration", "0", True)),
        *(("hostname", "a" * 60 + "!", False), ("hostname", "a" * 250 + "_", False), ("hostname", "a", True)),
        *(("hostname", "example.com", True), ("hostname", "a-b.example.com", True), ("hostname", "-a.com", False)),
        *(("byte", "QUI=", True), ("byte", "QUJD=", False)),
        *(("hostname", "a.b.c1", False), ("hostname", "a" * 64 + ".com", False), ("hostname", ".com", False)),
    ],
)
def test_formats_are_what_kubernetes_takes_them_for(form: str, text: str, is_one: bool) -> None:
    assert fits(text, form) is is_one


def test_no_expression_of_the_server_itself_is_slow() -> None:
    """In a process of its own, which the system ends when the search takes more than two seconds of CPU time."""
    ran = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert int(ran.stdout) > 40


def patterns_of_modules() -> list[re.Pattern[Any]]:
    """Every expression that a module has."""
    return [
        pattern
        for module in pkgutil.walk_packages(kinformer.__path__, "kinformer.")
        if ".models" not in module.name and ".bench" not in module.name and ".__main__" not in module.name
        for value in vars(importlib.import_module(module.name)).values()
        if isinstance(pattern := getattr(value, "__self__", value), re.Pattern)
    ]


def search(pattern: re.Pattern[Any]) -> None:
    """Search long texts that are made to be slow."""
    for part in ("a", "0", "1s", "-", ".", "a.", "a-", " ", "'", "\\", "{a", "[a", "=", ",", "1 "):
        text: Any = part * 20_000 + "!"
        pattern.fullmatch(text if isinstance(pattern.pattern, str) else text.encode())


if __name__ == "__main__":
    import resource

    found = patterns_of_modules()
    most = math.ceil(time.process_time()) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    for pattern in found:
        search(pattern)
    print(len(found))
