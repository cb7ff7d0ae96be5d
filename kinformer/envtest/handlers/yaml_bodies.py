"""Bodies in YAML: read as JSON has them, with the words of Go's decoder for what is wrong.

Of several documents the first counts. A key that an object has twice is no fault of the text: the last one counts, and
whoever sent it is told of the line. Keys that are no texts become texts.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

__all__ = ("BadYaml", "lines_of", "read_yaml_body")

_HEAD = "yaml: unmarshal errors:\n"
_LONG_HEAD = f"error converting YAML to JSON: {_HEAD}"


class BadYaml(Exception):
    """A text that is not YAML, said in the words of Go's decoder."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # whichever is built in
    """YAML as JSON has it: a time is a text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml_body(body: bytes) -> tuple[Any, str]:
    """
    :return: what it says, and what a strict reader says of keys that are there twice, if any are
    :raises BadYaml: if it is not YAML
    """
    try:
        loader = _Loader(body)
        try:
            if not loader.check_node():
                return None, ""
            node = loader.get_node()
            told: list[str] = []
            _find_duplicates(node, told)
            data = _as_json(loader.construct_document(node))
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadYaml(f"yaml: {_complaint(error)}") from None
    return data, _HEAD + "\n".join(f"  {one}" for one in told) if told else ""


def lines_of(text: str) -> list[str]:
    """What is told of a body, a fault each; it may be all that a strict reader said of the YAML."""
    for head in (_HEAD, _LONG_HEAD):
        if text.startswith(head):
            return [line.strip() for line in text.removeprefix(head).split("\n")]
    return [text]


def _complaint(error: Exception) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or not error.problem:
        return str(error).partition("\n")[0]
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        # A scanner's lines are counted from one there, and a parser's from zero.
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"line {line}: {error.problem}" if line else error.problem


def _find_duplicates(node: yaml.Node, told: list[str]) -> None:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _find_duplicates(item, told)
    elif isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            _find_duplicates(value, told)
            name = (key.tag, str(key.value))
            if name in seen:
                shown = json.dumps(key.value, ensure_ascii=False) if key.tag.endswith(":str") else key.value
                told.append(f"line {value.start_mark.line + 1}: key {shown} already set in map")
            seen.add(name)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {_as_name(name): _as_json(item) for name, item in value.items()}
    return [_as_json(item) for item in value] if isinstance(value, list) else value


def _as_name(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
