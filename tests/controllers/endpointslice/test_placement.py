from __future__ import annotations

import math
import random

from kinformer.models import V1EndpointSlice, V1ObjectMeta
from kinformer_controllers.endpointslice.endpoints import NO_HINTS, EndpointState, Identity, SliceView
from kinformer_controllers.endpointslice.placement import Placed, Placement, place

READY = EndpointState("n1", "", True, True, False, ("Pod", "", "", ""), NO_HINTS)
NOT_READY = READY._replace(ready=False, serving=False)


def who(number: int) -> Identity:
    return (f"10.1.{number // 250}.{number % 250}",), "", "ns", f"p{number}"


def desired(*numbers: int) -> dict[Identity, EndpointState]:
    return {who(number): READY for number in numbers}


def view(name: str, *numbers: int, state: EndpointState = READY) -> SliceView:
    meta = V1ObjectMeta(name=name)
    return SliceView(V1EndpointSlice(address_type="IPv4", metadata=meta), (), [(who(n), state) for n in numbers])


def numbers(placed: Placed) -> list[int]:
    return [int(identity[3][1:]) for identity, _ in placed]


def updates(placement: Placement) -> dict[str, list[int]]:
    return {view.name: numbers(placed) for view, placed in placement.update}


def test_what_is_where_it_should_be_is_not_written() -> None:
    placement = place([view("a", 1, 2)], desired(1, 2), 3)

    assert placement == ([], [], [], 0, 0)


def test_new_slices_are_filled_one_after_the_other() -> None:
    placement = place([], desired(*range(250)), 100)

    assert [len(placed) for placed in placement.create] == [100, 100, 50]
    assert [number for placed in placement.create for number in numbers(placed)] == list(range(250))


def test_an_endpoint_whose_state_has_changed_keeps_its_place() -> None:
    placement = place([view("a", 1, 2, state=NOT_READY), view("b", 3)], desired(1, 2, 3), 3)

    assert updates(placement) == {"a": [1, 2]}
    assert (placement.added, placement.removed) == (0, 0)


def test_a_slice_that_has_become_empty_goes() -> None:
    placement = place([view("a", 1), view("b", 2)], desired(2), 3)

    assert [each.name for each in placement.delete] == ["a"]
    assert (updates(placement), placement.removed) == ({}, 1)


def test_new_endpoints_go_where_something_is_written_anyway_the_fullest_first() -> None:
    existing = [view("a", 1, 2), view("b", 3, 4, 5), view("c", 6)]
    placement = place(existing, desired(1, 3, 4, 6, 7), 4)

    assert updates(placement) == {"a": [1], "b": [3, 4, 7]}


def test_the_remaining_ones_go_into_the_slice_they_fill_best() -> None:
    existing = [view("a", 1), view("b", 2, 3), view("c", 4, 5, 6)]
    placement = place(existing, desired(1, 2, 3, 4, 5, 6, 7, 8), 4)

    assert updates(placement) == {"b": [2, 3, 7, 8]}


def test_without_a_slice_with_room_a_new_one_is_made() -> None:
    existing = [view("a", 1, 2, 3), view("b", 4, 5, 6)]
    placement = place(existing, desired(*range(1, 9)), 4)

    assert (updates(placement), [numbers(placed) for placed in placement.create]) == ({}, [[7, 8]])


def test_a_slice_with_other_labels_is_written_and_takes_what_is_new() -> None:
    placement = place([view("a", 1), view("b", 2, 3)], desired(1, 2, 3, 4), 4, {"a"})

    assert updates(placement) == {"a": [1, 4]}


def test_an_endpoint_that_is_in_two_slices_stays_in_the_first() -> None:
    placement = place([view("a", 1, 2), view("b", 2, 3)], desired(1, 2, 3), 4)

    assert updates(placement) == {"b": [3]}


def test_what_is_in_slices_and_not_changed_is_not_changed() -> None:
    existing = [view("a", 1), view("b", 2)]
    place(existing, desired(1, 2, 3, 4), 4)

    assert [numbers(each.endpoints) for each in existing] == [[1], [2]]


class Cluster:
    """Slices as they are after what placements have said, and the writes that it took."""

    def __init__(self, max_per_slice: int) -> None:
        self.max_per_slice = max_per_slice
        self.slices: dict[str, SliceView] = {}
        self.writes = 0
        self._made = 0

    def want(self, wanted: dict[Identity, EndpointState]) -> None:
        before = dict(self.slices)
        placement = place(list(self.slices.values()), dict(wanted), self.max_per_slice)
        for placed in placement.create:
            self._made += 1
            self.slices[f"s{self._made}"] = view(f"s{self._made}")._replace(endpoints=placed)
        for old, placed in placement.update:
            self.slices[old.name] = old._replace(endpoints=placed)
        for old in placement.delete:
            del self.slices[old.name]
        changed = len(placement.create) + len(placement.update) + len(placement.delete)
        self.writes += changed
        there = [each for one in self.slices.values() for each in one.endpoints]
        assert dict(there) == wanted
        assert len(there) == len(wanted)
        assert all(0 < len(one.endpoints) <= self.max_per_slice for one in self.slices.values())
        assert changed == sum(before.get(name) != self.slices.get(name) for name in before.keys() | self.slices.keys())


def test_after_any_changes_each_has_one_place_and_no_more_writes() -> None:
    rng = random.Random(8)
    for max_per_slice in (1, 3, 10):
        cluster = Cluster(max_per_slice)
        for _ in range(200):
            cluster.want({who(n): rng.choice((READY, NOT_READY)) for n in rng.sample(range(60), rng.randint(0, 60))})
            writes = cluster.writes
            cluster.want({identity: state for one in cluster.slices.values() for identity, state in one.endpoints})
            assert cluster.writes == writes


def test_a_change_of_one_endpoint_of_thousands_is_one_write() -> None:
    cluster = Cluster(100)
    wanted = desired(*range(5000))
    cluster.want(wanted)
    assert cluster.writes == 50

    cluster.want(wanted | {who(2345): NOT_READY})
    assert cluster.writes == 51


def test_one_that_goes_and_one_that_comes_is_one_write() -> None:
    cluster = Cluster(100)
    cluster.want(desired(*range(5000)))
    cluster.want(desired(*range(1, 5001)))

    assert cluster.writes == 51


def test_a_batched_rollout_writes_each_slice_about_once_a_batch() -> None:
    cluster = Cluster(100)
    cluster.want(desired(*range(5000)))
    for done in range(100, 5001, 100):
        cluster.want(desired(*range(done, 5000 + done)))

    # Whole slices at a time, since endpoints are in the order in which their pods came.
    assert cluster.writes == 50 + 2 * 50
    assert len(cluster.slices) == 50


def test_adding_one_at_a_time_leaves_no_more_slices_than_are_needed() -> None:
    cluster = Cluster(10)
    for count in range(1, 101):
        cluster.want(desired(*range(count)))

    assert len(cluster.slices) == math.ceil(100 / 10)
    assert cluster.writes == 100
