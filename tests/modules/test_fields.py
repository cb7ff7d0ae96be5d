"""Classes with many fields: each is taken apart, or a line above it says why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tests.modules.reading import MOST, SAYS_WHY, Class, Module, read


def bases_of(class_: Class, known: Mapping[str, Class]) -> list[Class]:
    """The bases that are classes of this project, found by their names."""
    return [known[name] for name in class_.bases if known.get(name) not in (None, class_)]


def all_fields_of(class_: Class, known: Mapping[str, Class]) -> frozenset[str]:
    """The fields of the class and of its bases."""
    return class_.fields.union(*(all_fields_of(base, known) for base in bases_of(class_, known)))


def wrong_classes(modules: Iterable[Module]) -> set[str]:
    """
    The classes that have too many fields and do not say why, and those that say why without having them.

    Fields count with those of the bases. A class whose base has said why need not say it again, unless it has too many
    fields of its own.
    """
    found = [(module.name, class_) for module in modules for class_ in module.classes]
    known = {class_.name: class_ for _, class_ in reversed(found)}
    wrong = set()
    for name, class_ in found:
        count = len(all_fields_of(class_, known))
        told = any(len(all_fields_of(base, known)) > MOST for base in bases_of(class_, known))
        if (count > MOST and (not told or len(class_.fields) > MOST)) is not class_.says_why:
            wrong.add(f"{name}: {class_.name} has {count}")
    return wrong


def test_a_class_with_many_fields_says_why_and_no_other_does(modules: list[Module]) -> None:
    assert wrong_classes(modules) == set()


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n" + "".join(f"    f{n}: int\n" for n in range(16)),
        "class A:\n" + "".join(f"    f{n} = {n}\n" for n in range(16)),
        "class A:\n    def __init__(self):\n" + "".join(f"        self.f{n} = {n}\n" for n in range(16)),
        "class B:\n"
        + "".join(f"    f{n}: int\n" for n in range(8))
        + "class A(B):\n"
        + "".join(f"    g{n}: int\n" for n in range(8)),
        f"{SAYS_WHY}one would do.\nclass A:\n    f: int\n",
    ],
    ids=["declared", "set in the class", "set in a method", "in a base", "none, and says why"],
)
def test_fields_are_found_wherever_they_are_declared(text: str) -> None:
    assert [line.partition(" has ")[0] for line in wrong_classes([read("module", text)])] == ["module: A"]
