"""The benchmarks that only a checkout has: ``python -m benchmarks [NAME ...] [--set NAME=VALUE ...]``.

They measure controllers and servers; ``kinformer bench`` measures informers. Both run in the same way, and print the
same tables. Each module of this package has its benchmarks in a dictionary ``CASES``. ``--set`` changes an argument of
all runs that have it.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import json
import pkgutil
import pstats
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

import benchmarks
from benchmarks import peers
from kinformer.bench.results import BenchError
from kinformer.bench.runner import Case
from kinformer.cli.bench import chosen_cases, run
from kinformer.client import ClientError

__all__ = ("all_cases", "changed", "main")

_SHOWN = 40


def all_cases() -> dict[str, Case]:
    """The benchmarks of all modules of this package, by name."""
    names = [found.name for found in pkgutil.iter_modules(benchmarks.__path__) if not found.name.startswith("_")]
    modules = [importlib.import_module(f"benchmarks.{name}") for name in names]
    return {name: case for module in modules for name, case in getattr(module, "CASES", {}).items()}


def changed(case: Case, arguments: Mapping[str, Any]) -> Case:
    """
    A benchmark with other values for the arguments of its runs. Arguments that a run does not have are left out.

    :raises BenchError: if one is not of the type of the value in its place
    """

    def of_run(run: dict[str, Any]) -> dict[str, Any]:
        for name, value in run.items():
            given = arguments.get(name, value)
            if isinstance(given, int | float) is not isinstance(value, int | float):
                raise BenchError(f"--set {name}={given}: want a value like {value}")
        return {name: arguments.get(name, value) for name, value in run.items()}

    return replace(case, runs=tuple(map(of_run, case.runs)), quick=tuple(map(of_run, case.quick)))


def _setting(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r}: want NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _profile(case: Case, *, quick: bool) -> None:
    """Make the first run in this process, and print in which functions its time goes."""
    profile = cProfile.Profile()
    profile.enable()
    anyio.run(partial(case.measure, **case.arguments(quick=quick)[0]))
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(_SHOWN)


def main() -> int:
    every = all_cases()
    usual = [name for name in every if name not in peers.CASES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(usual)} and peers; default: all but peers"
    )
    parser.add_argument(
        "--set", action="extend", nargs="*", type=_setting, default=[], metavar="NAME=VALUE", dest="arguments"
    )
    parser.add_argument("--quick", action="store_true", help="small runs, to try this out")
    parser.add_argument("--repeat", type=int, help="how often to run each; default: 3, or 1 with --quick")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument("--profile", action="store_true", help="profile the first run of each instead, in one process")
    options = parser.parse_args()
    if options.repeat is not None and options.repeat < 1:
        parser.error(f"--repeat is {options.repeat}: want at least 1")
    try:
        chosen = chosen_cases(options.names or usual, every)
        cases = {name: changed(case, dict(options.arguments)) for name, case in chosen.items()}
        if options.profile:
            for case in cases.values():
                _profile(case, quick=options.quick)
            return 0
        measure = partial(run, names=(), cases=cases, quick=options.quick, repeat=options.repeat)
        return anyio.run(partial(measure, json_file=options.json))
    except (BenchError, ClientError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
