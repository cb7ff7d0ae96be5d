"""The mistakes that are made in modules, and how it is told whether tests found them."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutants.__main__ import Task, sample, survivors
from tests.mutants.forking import run
from tests.mutants.operators import mutants_of
from tests.mutants.running import AREAS, ROOT, Suite
from tests.mutants.survivors import reasons, sign


@pytest.mark.parametrize(
    ("code", "mistakes"),
    [
        ("a = b == c", ["comparison: b == c -> (b != c)"]),
        ("a = b < 'c'", ["comparison: b < 'c' -> (b >= 'c')", "boundary: b < 'c' -> (b <= 'c')"]),
        ("a = b and c", ["and-or: b and c -> (b or c)"]),
        ("a = not b", ["not: not b -> (b)"]),
        ("if a: b = c", ["condition: a -> (not a)"]),
        ("a = b + c", ["arithmetic: b + c -> (b - c)"]),
        ("a = True", ["truth: True -> (False)"]),
        ("a = 7", ["number: 7 -> (8)"]),
        ("a = b(c, d)", ["arguments: b(c, d) -> (b(d, c))"]),
        ("a.b = c", ["statement: a.b = c -> pass"]),
        ("def a(): return b", ["result: return b -> return None"]),
        ("for a in b: break", ["loop: break -> continue"]),
        ("a = [b for b in c if b]", ["filter: [b for b in c if b] -> ([b for b in c])"]),
        ("m = max(a, b)\n'a text'\na: 3 = b\nlog.info(1, 2)\n__all__ = (1,)\nmatch a:\n    case 1: b", []),
    ],
)
def test_each_kind_of_mistake_is_made_where_it_can_be(code: str, mistakes: list[str]) -> None:
    assert [str(mutant).partition(": ")[2] for mutant in mutants_of(code)] == mistakes


def test_a_mistake_changes_its_place_and_nothing_else() -> None:
    code = "é = 'ü'; a = (  # why\n    b ==\n    c)\nlast = 1\n"

    applied = [mutant.applied(code) for mutant in mutants_of(code)]

    assert applied == [code.replace("b ==\n    c", "(b != c)"), code.replace("1", "(2)")]


def test_every_package_has_modules_and_tests() -> None:
    for area in AREAS:
        assert area.modules(), area.package
        for tests in area.tests:
            assert (ROOT / tests).is_file() or list((ROOT / tests).rglob("test_*.py")), tests


def test_a_run_tells_which_test_fails_and_which_lines_each_executes(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "sum.py").write_text("def added(a, b):\n    if a:\n        return a - b\n    return b\n")
    (tmp_path / "test_sum.py").write_text(
        "import time\nfrom small.sum import added\n\n"
        "def test_nothing(): assert added(0, 1) == 1\n"
        "def test_something(): assert added(1, 1) == 2\n"
        "def test_without_end(): time.sleep(1000)\n"
        "def test_that_is_busy():\n    while True: pass\n"
    )

    found = run(tmp_path, ["test_sum.py"], only=["test_sum.py::test_something"], traced="small")
    hanging = run(tmp_path, ["test_sum.py"], only=["test_sum.py::test_without_end"], limit=0.5)
    busy = run(tmp_path, ["test_sum.py"], only=["test_sum.py::test_that_is_busy"], cpu_limit=1)

    assert found.killer == "test_sum.py::test_something"
    assert found.reached["small/sum.py"] == {1: [""], 2: [found.killer], 3: [found.killer]}
    assert [hanging.killer, busy.killer] == ["does not end", f"ended with status -{signal.SIGXCPU}"]


def test_tests_of_a_statement_come_first_and_fast_before_slow_ones() -> None:
    code = "if (\n    a == b\n):\n    c = 1\n"
    reached = {1: ["slow"], 2: ["fast", ""], 4: ["other"]}
    suite = Suite({"slow": 87.0, "other": 9.0, "fast": 4.0}, cpu=50.0, reached={"a.py": reached})

    assert suite.stages("a.py", mutants_of(code)[0]) == [
        (["fast", "slow"], 900.0, 970.0, 166.5),
        (["other"], 120.0, 150.0, 43.5),
    ]


def test_survivors_of_an_earlier_run_are_found_where_they_are_now() -> None:
    areas = [area for area in AREAS if area.package == "kinformer/workqueue"]
    often = Counter((task.path, task.mutant.mistake) for task in sample(areas, sys.maxsize, seed=1))

    def again(move: int, tasks: Sequence[Task]) -> set[tuple[str, str]]:
        lines = [f"survived  {task.path}:{task.mutant.line + move}: {task.mutant.mistake}" for task in tasks]
        lines.append("survived  kinformer/workqueue/gone.py:1: loop: break -> continue")
        return {(task.path, str(task.mutant)) for task in survivors(areas, "\n".join(lines))}

    tasks = sample(areas, 99, seed=1)
    single = [task for task in tasks if often[task.path, task.mutant.mistake] == 1]
    assert again(9, single) == {(task.path, str(task.mutant)) for task in single}
    assert again(0, tasks) == {(task.path, str(task.mutant)) for task in tasks}


def test_survivors_are_listed_as_long_as_they_are_mutants() -> None:
    known = {sign(path, mutant) for path, *_ in reasons() for mutant in mutants_of((ROOT / path).read_text())}

    assert reasons().keys() <= known
