"""Running golden cases: read a file, find its family's adapter, ask it every case, keep what differs.

The command line and pytest both come through here, so a case passes in one exactly when it passes in the other. An
answer is compared with what was recorded as JSON: key order does not count, but ``1`` is not ``true``. An adapter that
raises has failed the case; the run goes on.
"""

from __future__ import annotations

import difflib
import gzip
import importlib
import importlib.util
import inspect
import json
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import anyio

__all__ = (
    "Adapter",
    "Case",
    "CasesError",
    "Failure",
    "NoAdapterError",
    "Outcome",
    "adapter_for",
    "difference",
    "family_of",
    "read_cases",
    "run_cases",
    "same_json",
)

#: How much of a case and of a difference is worth reading at once.
_INPUT_WIDTH = 600
_DIFF_LINES = 40


class CasesError(Exception):
    """A file of cases is missing, or is not what it should be."""


class NoAdapterError(Exception):
    """Nothing here knows how to answer cases of that family."""


class Case(NamedTuple):
    """What was asked and what Kubernetes answered."""

    asked: Any
    want: Any


@dataclass(frozen=True, slots=True)
class Adapter:
    """How one family is answered and compared."""

    answer: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Failure:
    """
    One case that was answered differently.

    :param number: the case's line in its file, from 1
    :param raised: the traceback, if there was no answer
    """

    number: int
    case: Case
    got: Any = None
    raised: str = ""

    def report(self, family: str) -> str:
        """What a person needs to see of it."""
        asked = json.dumps(self.case.asked, sort_keys=True)
        if len(asked) > _INPUT_WIDTH:
            asked = f"{asked[:_INPUT_WIDTH]}… ({len(asked)} characters)"
        what = self.raised.rstrip() if self.raised else difference(self.got, self.case.want)
        return f"--- {family} case {self.number}\nin: {asked}\n{what}"


@dataclass(slots=True)
class Outcome:
    """What came of a file."""

    passed: int = 0
    failures: list[Failure] = field(default_factory=list)


def family_of(file: Path) -> str:
    """A file's name without its extensions: ``quantity`` of ``some/dir/quantity.ndjson.gz``."""
    return file.name.partition(".")[0]


def read_cases(file: Path) -> list[Case]:
    """
    Every case of an NDJSON file, gzipped or not.

    :raises CasesError: if it cannot be read, or a line is not a case
    """
    try:
        data = file.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except OSError as error:
        raise CasesError(f"{file}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise CasesError(f"{file}: broken gzip data: {error}") from error
    cases = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            case = json.loads(line)
        except ValueError as error:
            raise CasesError(f"{file}: line {number} is not JSON: {error}") from error
        if not isinstance(case, dict) or not {"in", "want"} <= case.keys():
            raise CasesError(f'{file}: line {number} is not a case: want {{"in": …, "want": …}}')
        cases.append(Case(case["in"], case["want"]))
    if not cases:
        raise CasesError(f"{file}: no cases in it")
    return cases


def adapter_for(family: str) -> Adapter:
    """
    The adapter of a family, from :mod:`tests.golden.adapters`.

    :raises NoAdapterError: if there is none
    """
    name = f"tests.golden.adapters.{family}"
    if not family.isidentifier() or importlib.util.find_spec(name) is None:
        raise NoAdapterError(f"{family}: no adapter for this family (want tests/golden/adapters/{family}.py)")
    module = importlib.import_module(name)
    return Adapter(module.answer, getattr(module, "same", same_json))


def run_cases(adapter: Adapter, cases: Sequence[Case], *, first: int = 1) -> Outcome:
    """
    Ask an adapter all `cases`; coroutines run in one event loop for all of them.

    :param first: the number of the first case, for reports
    """

    async def run_all() -> Outcome:
        outcome = Outcome()
        for number, case in enumerate(cases, first):
            try:
                got = adapter.answer(case.asked)
                if inspect.isawaitable(got):
                    got = await got
                right = adapter.same(got, case.want)
            except Exception:  # an adapter runs whatever it tests: any error is that case's failure
                outcome.failures.append(Failure(number, case, raised=traceback.format_exc(limit=-4)))
                continue
            if right:
                outcome.passed += 1
            else:
                outcome.failures.append(Failure(number, case, got))
        return outcome

    return anyio.run(run_all)


def same_json(got: Any, want: Any) -> bool:
    """
    Whether two values are the same JSON, whatever the order of their keys.

    An answer that is an empty list may be wanted as ``null``: Go writes a slice so that nothing was ever put into.
    """
    return _text(got) == _text(want) or (want is None and got == [])


def difference(got: Any, want: Any) -> str:
    """Where `got` differs from `want`, line by line."""
    lines = list(
        difflib.unified_diff(
            _text(want, indent=1).splitlines(), _text(got, indent=1).splitlines(), "want", "got", lineterm="", n=2
        )
    )
    if not lines:
        return f"want and got read the same, but were not taken as the same: {_text(want)}"
    if len(lines) > _DIFF_LINES:
        lines = [*lines[:_DIFF_LINES], f"… {len(lines) - _DIFF_LINES} more lines"]
    return "\n".join(lines)


def _text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, sort_keys=True, indent=indent, default=repr, ensure_ascii=False)
