"""Texts of YAML that are small to send, and would be endless to read."""

from __future__ import annotations

import pytest

from kinformer.envtest.handlers.yaml_bodies import BODY_LIMIT, BadYaml, read_yaml_body
from tests.envtest.hostile.victim import Victim

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
YAML = "application/yaml"


def laughs(levels: int) -> str:
    """Lists of nine aliases of lists of nine aliases of …"""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "metadata: {name: y}\n" + "\n".join(lines)


@pytest.mark.parametrize("type_", [YAML, "application/apply-patch+yaml"])
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("x: " + "[" * 30_000 + "]" * 30_000, "line 1: exceeded max depth"),
        ("- " * 500_000, "line 1: exceeded max depth"),
        ("x: " + "{a: " * 30_000 + "}" * 30_000, "line 1: exceeded max depth"),
        (laughs(9), "document contains excessive aliasing"),
        (laughs(40), "document contains excessive aliasing"),
        ("x: &a {b: *a}", "anchor 'a' value contains itself"),
        ("x: &a [*a]", "anchor 'a' value contains itself"),
    ],
    ids=["flow lists", "block lists", "flow objects", "aliases", "more aliases", "object", "list"],
)
def test_yaml_that_would_crash_or_hang_its_reader_is_refused(attacked: Victim, body: str, why: str, type_: str) -> None:
    method, path = ("POST", CONFIG_MAPS) if type_ == YAML else ("PATCH", f"{CONFIG_MAPS}/a?fieldManager=m")
    answer = attacked(method, path, body, type_)
    assert answer.code == 400
    assert why in answer.message
    assert attacked.is_well()


def test_aliases_of_aliases_that_go_too_deep_are_refused() -> None:
    opened, closed = "[" * 90, "]" * 90
    lines = [f"a0: &a0 {opened}{closed}", f"a1: &a1 {opened}*a0{closed}", f"a2: {opened}*a1{closed}"]
    with pytest.raises(BadYaml, match="exceeded max depth"):
        read_yaml_body("\n".join(lines).encode())


def test_yaml_aliases_cannot_grow_beyond_the_limit_of_a_body() -> None:
    part = f"a: &a '{'x' * 1000}'\n"
    most = BODY_LIMIT // 1002 - 2
    data, _ = read_yaml_body(f"{part}b: [{','.join(['*a'] * most)}]".encode())
    assert len(data["b"]) == most
    with pytest.raises(BadYaml, match="excessive aliasing"):
        read_yaml_body(f"{part}b: [{','.join(['*a'] * (most + 2))}]".encode())


def test_a_part_that_stands_at_two_places_is_two_parts() -> None:
    data, _ = read_yaml_body(b"a: &a {x: 1}\nb: *a")
    assert data == {"a": {"x": 1}, "b": {"x": 1}}
    assert data["a"] is not data["b"]


def test_numbers_are_not_to_the_base_of_sixty() -> None:
    assert read_yaml_body(b"a: 1:30\nb: 59:59:59.5")[0] == {"a": "1:30", "b": "59:59:59.5"}
    long = ":".join(["59"] * 200_000)
    assert read_yaml_body(f"a: {long}".encode())[0] == {"a": long}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("yes", True), ("y", True), ("Off", False), ("~", None), ("", None), ("NULL", None), ("'y'", "y")),
        *(("0x1F", 31), ("0b11", 3), ("017", 15), ("0o17", 15), ("-1_000", -1000), ("1e3", 1000.0), (".5", 0.5)),
        *(("1.", 1.0), ("089", 89.0), ("1e999", "1e999"), ("_1", "_1"), ("2001-01-01", "2001-01-01"), ("<<", "<<")),
        *(("!!str 1", "1"), ("!!int '1'", 1), ("!!binary aGk=", "aGk="), ("!own 1", "1")),
        *(("!!null ''", None), ("!!bool 'on'", True), ("!!set {a, b}", {"a": None, "b": None}), ("- 1", [1])),
    ],
)
def test_scalars_are_what_go_takes_them_for(text: str, value: object) -> None:
    read = read_yaml_body(f"a:\n {text}".encode())[0]["a"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (".nan", "line 1: json: unsupported value: NaN"),
        ("-.inf", "line 1: json: unsupported value: -Inf"),
        ("9" * 10_000, "line 1: a number of 10000 digits is too long"),
        ("{[a]: 1}", "line 1: invalid map key"),
        ("{null: 1}", "line 1: unsupported map key of type: invalid, key: <nil>"),
        ("*b", "unknown anchor 'b' referenced"),
    ],
)
def test_what_is_no_value_of_json_is_refused_with_its_line(attacked: Victim, text: str, why: str) -> None:
    answer = attacked("POST", CONFIG_MAPS, f"a: {text}", YAML)
    assert answer.code == 400
    assert f"yaml: {why}" in answer.message


def test_no_tag_runs_code(attacked: Victim) -> None:
    answer = attacked("POST", CONFIG_MAPS, "data: {a: !!python/object/apply:os.system ['exit 1']}", YAML)
    assert answer.code == 400
    assert "cannot unmarshal array" in answer.message
