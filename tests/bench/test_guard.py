from __future__ import annotations

import anyio
import pytest

from benchmarks.guard import judge
from benchmarks.guard_paths import PATHS
from benchmarks.guard_run import follow

HERE = {"python": "3.11.7", "compiler": "GCC 12.2.0", "machine": "x86_64", "msgspec": "0.22.0"}


async def test_every_event_of_the_guards_run_reaches_the_handler() -> None:
    with anyio.fail_after(60):
        assert await follow(500) == 500


@pytest.mark.parametrize("path", PATHS)
async def test_each_path_that_the_guard_counts_comes_to_its_end(path: str) -> None:
    with anyio.fail_after(60):
        await PATHS[path].run(3)


@pytest.mark.parametrize(("per_event", "passes"), [(90, True), (100, True), (110, True), (111, False), (200, False)])
def test_the_guard_fails_when_instructions_go_up_by_more_than_a_tenth(per_event: int, passes: bool) -> None:
    passed, told = judge(per_event, {"instructions": 100, **HERE}, HERE)

    assert passed is passes
    assert f"{per_event} instructions" in told
    assert ("--update" in told) is not passes


def test_the_guard_compares_nothing_with_the_count_of_another_build() -> None:
    stored = {"instructions": 1, **HERE, "compiler": "Clang 18"}

    passed, told = judge(100, stored, HERE)

    assert passed
    assert "not compared: the stored count is of compiler Clang 18" in told


def test_the_guard_says_so_where_nothing_is_stored() -> None:
    passed, told = judge(100, None, HERE)

    assert passed
    assert "nothing is stored for this Python" in told


def test_the_guard_names_what_else_has_changed() -> None:
    _, told = judge(200, {"instructions": 100, **HERE, "msgspec": "0.20.0"}, HERE)

    assert "(msgspec 0.20.0 then, 0.22.0 now)" in told
