"""Bytes that a real kube-apiserver sent, for tests of whatever reads such."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ("pod_list", "watch_lines", "watched_pods")

_STREAMS = Path(__file__).parent / "golden" / "streams"


@cache
def pod_list() -> bytes:
    """A PodList of 200."""
    return gzip.decompress((_STREAMS / "pods_list.json.gz").read_bytes())


@cache
def watch_lines() -> tuple[bytes, ...]:
    """A watch of all pods through several controllers' work, a line an event."""
    return tuple(gzip.decompress((_STREAMS / "pods_watch.ndjson.gz").read_bytes()).splitlines())


def watched_pods() -> list[tuple[bytes, Any]]:
    """Every pod of the watch (its bookmarks hold none), as bytes and as plain JSON."""
    events = [json.loads(line) for line in watch_lines()]
    pods = [event["object"] for event in events if event["type"] != "BOOKMARK"]
    return [(json.dumps(pod).encode(), pod) for pod in pods]
