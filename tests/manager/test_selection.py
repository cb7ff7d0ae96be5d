from __future__ import annotations

import pytest

from kinformer.manager import UnknownControllerError, select_controllers

KNOWN = ["endpoint", "quota", "replicationcontroller"]


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        (["*"], ["endpoint", "quota"]),
        ([], []),
        (["quota"], ["quota"]),
        (["*", "replicationcontroller"], KNOWN),
        (["builtin"], ["replicationcontroller"]),
        (["*", "builtin"], KNOWN),
        (["builtin", "-replicationcontroller"], []),
        (["builtin", "endpoint"], ["endpoint", "replicationcontroller"]),
        (["*", "-quota"], ["endpoint"]),
        (["-quota", "quota"], []),
        (["quota", "-quota"], ["quota"]),
    ],
)
def test_the_first_entry_that_names_a_controller_decides(selection: list[str], selected: list[str]) -> None:
    assert select_controllers(selection, KNOWN, builtin=["replicationcontroller"]) == selected


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        (["garbagecollector"], ["garbage-collector-controller"]),
        (["garbage-collector-controller"], ["garbage-collector-controller"]),
        (["replicationcontroller-controller"], ["replicationcontroller"]),
        (["*", "-garbagecollector"], ["replicationcontroller", "service"]),
        (
            ["*", "-replicationcontroller-controller", "replicationcontroller"],
            ["garbage-collector-controller", "service"],
        ),
        (["service-lb-controller"], ["service"]),
    ],
)
def test_a_short_and_a_long_name_mean_the_same_controller(selection: list[str], selected: list[str]) -> None:
    known = ["garbage-collector-controller", "replicationcontroller", "service"]
    assert select_controllers(selection, known) == selected


def test_an_exact_name_comes_before_a_short_name() -> None:
    assert select_controllers(["service"], ["service", "service-lb-controller"]) == ["service"]
    assert select_controllers(["service-lb-controller"], ["service", "service-lb-controller"]) == [
        "service-lb-controller"
    ]


def test_unknown_names_are_one_error_that_names_what_there_is() -> None:
    with pytest.raises(UnknownControllerError) as raised:
        select_controllers(["*", "replicaset", "-job"], KNOWN)

    assert str(raised.value) == (
        "unknown controllers 'replicaset', 'job' (is the package installed that has it?): want "
        "'*', 'builtin', or NAME or -NAME of endpoint, quota, replicationcontroller"
    )


@pytest.mark.parametrize("name", ["shop.Shops", "shop.py", "shop/Shops"])
def test_a_module_without_a_name_in_it_is_no_misspelt_name(name: str) -> None:
    with pytest.raises(UnknownControllerError, match="want MODULE:NAME for one that is not installed"):
        select_controllers([name], ["shops", *KNOWN])


def test_a_misspelt_name_is_not_answered_with_all_names() -> None:
    with pytest.raises(UnknownControllerError, match=r"^unknown controller 'qota': did you mean quota\?$"):
        select_controllers(["qota"], KNOWN)
    with pytest.raises(UnknownControllerError, match=r"of a0, a1, .* and 5 more$"):
        select_controllers(["x"], [f"a{number}" for number in range(15)])


def test_a_controller_off_by_default_runs_only_if_named() -> None:
    def select(*selection: str) -> list[str]:
        return select_controllers(
            selection, ["job", "mine", "signer"], ["job", "signer"], lambda name: name == "signer"
        )

    assert select("*", "builtin") == ["job", "mine"]
    assert select("builtin", "signer") == ["job", "signer"]
    assert select("builtin", "signer", "-job") == ["signer"]
