"""Outcomes of many seeds: written to a file, and compared with those of another run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.golden.run import difference
from tests.golden.seeds.play import Played

__all__ = ("as_read", "first_difference", "read", "write")

Outcomes = Mapping[int, dict[str, Any]]


def write(file: Path, played: Iterable[Played]) -> None:
    """One line a seed, sorted by seed; gzipped if the name ends so."""
    lines = [json.dumps(as_read(each), sort_keys=True) for each in sorted(played, key=lambda each: each.seed)]
    data = "".join(f"{line}\n" for line in lines).encode()
    # Without a time, so that the same outcomes are the same bytes.
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def as_read(played: Played) -> dict[str, Any]:
    """What :func:`read` gives of it after it was written."""
    read: dict[str, Any] = json.loads(json.dumps({"seed": played.seed, "title": played.title, "states": played.states}))
    return read


def read(file: Path) -> Outcomes:
    """What :func:`write` has written, by seed."""
    data = file.read_bytes()
    lines = [json.loads(line) for line in (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines()]
    return {line["seed"]: line for line in lines}


def first_difference(got: dict[str, Any], want: dict[str, Any]) -> str:
    """The first operation of a seed after which two runs differ, with what led to it and how; ``""`` if none does."""
    done: list[str] = []
    for (name, here), (_, there) in zip(got["states"], want["states"], strict=False):
        done.append(name)
        if here != there:
            kinds = sorted(here.keys() | there.keys())
            differing = {kind for kind in kinds if here.get(kind) != there.get(kind)}
            shown = difference(
                {kind: here.get(kind) for kind in differing}, {kind: there.get(kind) for kind in differing}
            )
            where = f"seed {got['seed']} ({got['title']}) differs in {', '.join(sorted(differing))}"
            return f"{where} after: {'; '.join(done)}\n{shown}"
    if len(got["states"]) != len(want["states"]):
        return f"seed {got['seed']}: {len(got['states'])} states against {len(want['states'])}"
    return ""
