"""What is made from the controllers' specs is up to date, and its links lead somewhere."""

from __future__ import annotations

import re

from scripts.catalogue import (
    GUIDE,
    PAGE,
    PYPROJECT,
    SECTIONS,
    SHARDING,
    entry_points_text,
    flags_text,
    sharding_text,
    specs,
    table_text,
)


def test_the_table_of_controllers_is_made_from_their_specs() -> None:
    text = PAGE.read_text()

    assert text[text.index("## ") :] == table_text(), "run: python -m scripts.catalogue"


def test_the_table_of_flags_is_made_from_the_specs() -> None:
    assert GUIDE.read_text().endswith(flags_text()), "run: python -m scripts.catalogue"


def test_the_table_of_shared_keys_is_made_from_the_specs() -> None:
    assert f"\n{sharding_text()}\n" in SHARDING.read_text(), "run: python -m scripts.catalogue"


def test_each_controller_is_sharded_or_says_why_it_is_on_the_leader() -> None:
    assert [name for name, (_, spec) in specs().items() if bool(spec.sharded_by) == bool(spec.on_leader)] == []


def test_the_entry_points_are_made_from_the_specs() -> None:
    assert entry_points_text() in PYPROJECT.read_text(), "run: python -m scripts.catalogue"


def test_each_controller_is_in_one_section() -> None:
    names = [name for section in SECTIONS.values() for name in section]

    assert len(names) == len(set(names)) > 50
    assert specs().keys() <= set(names)
    assert not [
        name for section in SECTIONS.values() for name, left_out in section.items() if left_out and name in specs()
    ]


def test_the_page_of_each_controller_names_it() -> None:
    wrong = []
    for name, (_, spec) in specs().items():
        page, _, anchor = spec.page.partition("#")
        text = (PAGE.parent / page).read_text()
        headings = {re.sub(r"[^a-z0-9 -]", "", one.lstrip("# ").lower()).replace(" ", "-") for one in text.splitlines()}
        if not any(one in text.lower() for one in (name, *spec.aliases)) or (anchor and anchor not in headings):
            wrong.append(f"{name}: {spec.page}")

    assert not wrong
