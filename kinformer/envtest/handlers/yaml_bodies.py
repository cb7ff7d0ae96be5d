"""Bodies and answers in YAML. What is read is JSON data, and the errors are those of Go's decoder.

The first document of several is used. A duplicate key is not an error: the last one is used, and the client gets a
warning with its line. Keys that are not strings become strings.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml
from aiohttp import web

from kinformer.envtest.handlers.yaml_trees import BadTree, read_tree
from kinformer.envtest.jsontext import MAX_DEPTH, MOST_LEVELS, is_too_deep

__all__ = ("BODY_LIMIT", "YAML", "BadYaml", "in_form", "lines_of", "read_yaml_body")

YAML = "application/yaml"

#: The most bytes of a body, and of its YAML after aliases are expanded. etcd refuses larger objects.
BODY_LIMIT = 3 * 1024 * 1024

_HEAD = "yaml: unmarshal errors:\n"
_LONG_HEAD = f"error converting YAML to JSON: {_HEAD}"


class BadYaml(Exception):
    """A body is not valid YAML, or too large. The text is that of Go's decoder."""


def read_yaml_body(body: bytes) -> tuple[Any, str]:
    """
    Decode a body in YAML.

    :return: the value, and the text about duplicate keys. The text is empty if there are none
    :raises BadYaml: if the body is not YAML, is larger than a body may be, or is nested too deeply
    """
    try:
        tree = read_tree(body, most_bytes=BODY_LIMIT, most_levels=MOST_LEVELS)
    except BadTree as error:
        raise BadYaml(f"yaml: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadYaml(f"yaml: {_complaint(error)}") from None
    data = tree.data
    if tree.height > MAX_DEPTH and is_too_deep(data):
        raise BadYaml("yaml: exceeded max depth")
    if tree.is_shared:
        # Aliases make parts shared. Decoding again makes a separate copy of each.
        data = msgspec.json.decode(msgspec.json.encode(data))
    return data, _HEAD + "\n".join(f"  {one}" for one in tree.told) if tree.told else ""


def in_form(response: web.Response, accept: str) -> web.Response:
    """Turn an answer in JSON into YAML if the client names YAML first."""
    if accept.lstrip().startswith(YAML) and response.content_type == "application/json":
        assert isinstance(response.body, bytes)
        response.body = yaml.safe_dump(msgspec.json.decode(response.body), allow_unicode=True).encode()
        response.content_type = YAML
    return response


def lines_of(text: str) -> list[str]:
    """Split a text about a body into one text for each problem. All problems of its YAML come as one text."""
    for head in (_HEAD, _LONG_HEAD):
        if text.startswith(head):
            return [line.strip() for line in text.removeprefix(head).split("\n")]
    return [text]


def _complaint(error: Exception) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or not error.problem:
        return str(error).partition("\n")[0]
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        # In the lines of errors, Go's scanner counts from one and its parser from zero.
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"line {line}: {error.problem}" if line else error.problem
