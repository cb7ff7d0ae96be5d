"""Status pages, in the formats of Kubernetes 1.36: ``/statusz``, ``/flagz`` and ``/configz``.

``/statusz`` shows the start time and the version of the process, and the paths of other pages. ``/flagz`` shows the
flags of the command line. ``/configz`` shows the configuration in effect as JSON. The first two are plain text by
default. They are JSON or YAML if the request accepts ``application/json;as=Statusz;v=v1beta1;g=config.k8s.io``. If the
name of a flag or option says that its value is secret, the value is shown as ``CLASSIFIED``. The same holds for
passwords in URLs.

This module only makes texts from values. :mod:`kinformer.manager.serving.routes` serves them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import yaml

__all__ = ("CLASSIFIED", "Page", "Status", "classified", "configz", "debugging_paths", "flagz", "statusz")

#: Stands for a secret value. This is Kubernetes' word.
CLASSIFIED: Final = "CLASSIFIED"

_SECRET = re.compile(r"token|passw|secret|credential|api[-_]?key", re.IGNORECASE)
#: The ends of names whose values are not secret, although the name matches: a file's path, a number of workers, a
#: duration.
_ABOUT = re.compile(
    r"(file|path|dir|name|namespace|syncs|ttl|duration|period|address|ca|controllers?|count)$", re.IGNORECASE
)
_URL_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")

_GROUP: Final = "config.k8s.io"
_VERSIONS: Final = ("v1beta1", "v1alpha1")
#: The versions whose answers have a warning that they are deprecated.
_DEPRECATED: Final = ("v1alpha1",)

_TEXT: Final = "text/plain"
_STRUCTURED: Final = ("application/json", "application/yaml")

_HEADER: Final = """
{component} {page}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for \
debugging purposes only.
"""

#: Paths that are not listed, because they have no pages for debugging.
_OTHER: Final = frozenset({"/api", "/apis", "/openid", "/openapi", "/.well-known"})


class Page(NamedTuple):
    """An answer: the HTTP status, the content type, the body, and the value of the header ``Warning``."""

    status: int
    content_type: str
    body: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """
    The contents of ``/statusz``.

    :param python: the version of the interpreter. A Go program shows the version of Go here
    :param paths: the paths of other pages
    """

    component: str
    started: datetime
    version: str
    python: str
    paths: tuple[str, ...]


def statusz(status: Status, now: datetime, accept: str) -> Page:
    """
    The page ``/statusz``.

    :param accept: the request's header ``Accept``
    """
    started = status.started.astimezone(UTC)
    up = max(0, int((now - status.started).total_seconds()))
    structured = {
        "startTime": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "uptimeSeconds": up,
        "binaryVersion": status.version,
        "paths": list(status.paths),
    }
    shown = {
        "Started": f"{started:%a %b} {started.day:2} {started:%H:%M:%S UTC %Y}",
        "Up": f"{up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec",
        "Python version": status.python,
        "Binary version": status.version,
        "Paths": " ".join(status.paths),
    }
    text = "\n" + "".join(f"{name}: {value}\n" for name, value in shown.items() if value)
    return _page("statusz", "Statusz", status.component, accept, text, structured)


def flagz(component: str, flags: Mapping[str, Any], accept: str) -> Page:
    """
    The page ``/flagz``.

    :param flags: the values by the flags' names, which have no leading dashes
    :param accept: the request's header ``Accept``
    """
    values = {name: classified(name, value) for name, value in sorted(flags.items())}
    text = "".join(f"{name}={value}\n" for name, value in values.items())
    return _page("flagz", "Flagz", component, accept, text, {"flags": values} if values else {})


def configz(configs: Mapping[str, Mapping[str, Any]]) -> Page:
    """
    The page ``/configz``.

    :param configs: the configurations by name. Each has ``kind`` and ``apiVersion``
    """
    return Page(200, "application/json", json.dumps(_redacted(configs), sort_keys=True))


def classified(name: str, value: Any) -> str:
    """A flag's value in Go's format, or ``CLASSIFIED`` if it is secret."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_of_list(name, one) for one in value) + "]"
    text = str(value)
    if text and _is_secret(name):
        return CLASSIFIED
    return _URL_PASSWORD.sub(CLASSIFIED, text)


def _of_list(name: str, value: Any) -> str:
    inner, equals, text = str(value).partition("=")
    # For ``--option NAME=VALUE``, NAME decides whether the value is secret.
    return f"{inner}={classified(inner, text)}" if equals else classified(name, value)


def _is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not _ABOUT.search(name)


def _redacted(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _redacted(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(inner, name) for inner in value]
    if isinstance(value, bool | int | float) or value is None:
        return value
    return classified(name, value)


def debugging_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """The first segments of these paths, sorted and without duplicates."""
    folders = {f"/{path.split('/')[1]}" for path in paths if path.startswith("/") and path.split("/")[1]}
    return tuple(sorted(folders - _OTHER))


# --- content negotiation


def _page(page: str, kind: str, component: str, accept: str, text: str, structured: dict[str, Any]) -> Page:
    for wanted in _wanted(accept) if accept.strip() else [(_TEXT, "")]:
        content_type, version = wanted
        if content_type == _TEXT:
            return Page(200, f"{_TEXT}; charset=utf-8", _HEADER.format(component=component, page=page) + text)
        asked, served = version.rsplit("/", 1)
        if asked != f"{kind}/{_GROUP}" or served not in _VERSIONS:
            continue
        found = {
            "kind": kind,
            "apiVersion": f"{_GROUP}/{served}",
            "metadata": {"name": component},
            **structured,
        }
        body = json.dumps(found) if content_type == "application/json" else yaml.safe_dump(found, sort_keys=True)
        warning = (
            f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'
            if served in _DEPRECATED
            else ""
        )
        return Page(200, content_type, body, warning)
    accepted = ", ".join([*_STRUCTURED, _TEXT])
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"only the following media types are accepted: {accepted}",
        "reason": "NotAcceptable",
        "code": 406,
    }
    return Page(406, "application/json", json.dumps(status))


def _wanted(accept: str) -> list[tuple[str, str]]:
    """
    The formats that an Accept header asks for, the preferred one first: the media type, and ``KIND/GROUP/VERSION``.
    """
    found: list[tuple[float, tuple[str, str]]] = []
    for clause in accept.split(","):
        type_, *rest = (part.strip() for part in clause.split(";"))
        given = dict(part.split("=", 1) for part in rest if "=" in part)
        quality = given.get("q", "1")
        try:
            weight = float(quality)
        except ValueError:
            weight = 0.0
        as_ = f"{given.get('as', '')}/{given.get('g', '')}/{given.get('v', '')}"
        for candidate in (*_STRUCTURED, _TEXT):
            main = candidate.split("/", maxsplit=1)[0]
            if type_.lower() in (candidate, f"{main}/*", "*/*") and weight > 0:
                # Text must be asked for without a kind, JSON and YAML with one.
                if candidate == _TEXT and as_ == "//":
                    found.append((weight, (candidate, "")))
                elif candidate != _TEXT and as_ != "//":
                    found.append((weight, (candidate, as_)))
    found.sort(key=lambda one: -one[0])
    return [wanted for _, wanted in found]
