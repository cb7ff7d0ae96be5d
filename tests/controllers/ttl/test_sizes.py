from __future__ import annotations

import pytest

from kinformer_controllers.ttl.controller import STEPS, Sizes


@pytest.mark.parametrize(
    ("nodes", "seconds"),
    [(0, 0), (100, 0), (101, 15), (500, 15), (501, 30), (1000, 30), (1001, 60), (2000, 60), (2001, 300), (10_000, 300)],
)
def test_the_more_nodes_the_longer(nodes: int, seconds: int) -> None:
    sizes = Sizes()
    sizes.change(nodes)

    assert sizes.seconds == seconds


def test_a_cluster_that_shrinks_keeps_its_step_for_a_while() -> None:
    sizes = Sizes()
    sizes.change(101)

    sizes.change(-11)
    assert (sizes.nodes, sizes.seconds) == (90, 15)
    sizes.change(-1)
    assert (sizes.nodes, sizes.seconds) == (89, 0)


def test_node_by_node_it_goes_up_and_down_through_all_steps() -> None:
    sizes = Sizes()
    up, down = [], []
    for _ in range(2500):
        sizes.change(1)
        up.append(sizes.seconds)
    for _ in range(2500):
        sizes.change(-1)
        down.append(sizes.seconds)

    want = [step.seconds for step in STEPS]
    assert list(dict.fromkeys(up)) == want
    assert list(dict.fromkeys(down)) == want[::-1]
    assert [down.count(step.seconds) for step in STEPS] == [90, 360, 450, 900, 700]
