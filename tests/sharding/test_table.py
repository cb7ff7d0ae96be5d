from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.sharding import Table, TableError


@given(st.lists(st.sampled_from(["", "a-1", "b-2", "c"]), min_size=1, max_size=256), st.integers(0, 9), st.text())
def test_what_is_written_is_read_again(owners: list[str], changes: int, waits: str) -> None:
    table = Table(tuple(owners), changes, waits)
    assert Table.read(table.annotations()) == table


def test_a_table_is_written_for_people_to_read() -> None:
    table = Table.empty(64).with_owner({0, 1, 2, 3, 17}, "web-1").with_owner({5}, "web-2").touched()
    assert table.annotations() == {
        "kinformer.dev/shards": "64",
        "kinformer.dev/shard-by": "namespace",
        "kinformer.dev/shard-owners": '{"web-1":"0-3,17","web-2":"5"}',
        "kinformer.dev/shard-changes": "1",
        "kinformer.dev/shard-waits": "",
    }


def test_a_table_of_1024_ranges_that_alternate_between_members_is_small() -> None:
    table = Table(tuple(f"kinformer-manager-{number % 8}" for number in range(1024)))
    assert sum(map(len, table.annotations().values())) < 5000


@pytest.mark.parametrize(
    ("annotations", "what"),
    [
        ({}, "kinformer.dev/shards is missing"),
        ({"kinformer.dev/shards": "x", "kinformer.dev/shard-owners": "{}"}, "invalid literal"),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-owners": "[]"}, "shard-owners is not an object of texts"),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-owners": "{}x"}, "shard-owners is not an object of texts"),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-owners": '{"a":' * 99_999}, "is not an object of texts"),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-owners": '{"a": "4"}'}, "a owns range 4, and there are 4"),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-owners": '{"a": "0-99999999999"}'}, "a owns range 4"),
        (
            {
                "kinformer.dev/shards": "4",
                "kinformer.dev/shard-owners": "{}",
                "kinformer.dev/shard-changes": "9" * 4300,
            },
            "shard-changes is out of range",
        ),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-owners": '{"a": "3-1"}'}, "not a range of numbers"),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-owners": '{"a": "0-1", "b": "1"}'}, "two owners, a and b"),
        ({"kinformer.dev/shards": "4", "kinformer.dev/shard-by": "x", "kinformer.dev/shard-owners": "{}"}, "by is 'x'"),
        ({"kinformer.dev/shards": "0", "kinformer.dev/shard-owners": "{}"}, "0 ranges: want 1 to 1024"),
        ({"kinformer.dev/shards": "9999999999999", "kinformer.dev/shard-owners": "{}"}, "want 1 to 1024"),
    ],
)
def test_what_is_no_table_is_refused(annotations: dict[str, str], what: str) -> None:
    with pytest.raises(TableError, match=what):
        Table.read(annotations)
