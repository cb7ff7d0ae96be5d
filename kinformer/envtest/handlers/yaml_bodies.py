"""Bodies in YAML: read as JSON has them, with the words of Go's decoder for what is wrong.

Of several documents the first counts. A key that an object has twice is no fault of the text: the last one counts, and
whoever sent it is told of the line. Keys that are no texts become texts.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from kinformer.envtest.depth import MAX_DEPTH, MOST_LEVELS, is_too_deep
from kinformer.envtest.handlers.yaml_trees import BadTree, read_tree

__all__ = ("BODY_LIMIT", "BadYaml", "lines_of", "read_yaml_body")

#: How large a body may be, and how large its YAML may be once aliases are followed: etcd refuses what is larger.
BODY_LIMIT = 3 * 1024 * 1024

_HEAD = "yaml: unmarshal errors:\n"
_LONG_HEAD = f"error converting YAML to JSON: {_HEAD}"


class BadYaml(Exception):
    """A text that is not YAML, said in the words of Go's decoder."""


def read_yaml_body(body: bytes) -> tuple[Any, str]:
    """
    :return: what it says, and what a strict reader says of keys that are there twice, if any are
    :raises BadYaml: if it is not YAML; if it is larger than a body may be, or nested more deeply
    """
    try:
        tree = read_tree(body, most_bytes=BODY_LIMIT, most_levels=MOST_LEVELS)
    except BadTree as error:
        raise BadYaml(f"yaml: {_at(error.line, error.problem)}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadYaml(f"yaml: {_complaint(error)}") from None
    data = tree.data
    if tree.height > MAX_DEPTH and is_too_deep(data):
        raise BadYaml("yaml: exceeded max depth")
    if tree.is_shared:
        # An alias is a part that stands at several places; each is to be one of its own.
        data = msgspec.json.decode(msgspec.json.encode(data))
    return data, _HEAD + "\n".join(f"  {one}" for one in tree.told) if tree.told else ""


def lines_of(text: str) -> list[str]:
    """What is told of a body, a fault each; it may be all that a strict reader said of the YAML."""
    for head in (_HEAD, _LONG_HEAD):
        if text.startswith(head):
            return [line.strip() for line in text.removeprefix(head).split("\n")]
    return [text]


def _at(line: int | None, problem: str) -> str:
    return f"line {line + 1}: {problem}" if line is not None else problem


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
