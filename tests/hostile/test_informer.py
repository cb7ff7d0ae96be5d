"""The informer under a hostile server: whatever it does, the informer is there when the server is decent again."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.cache import InformerOptions
from kinformer.client import ClientOptions, connect
from kinformer.clock import FakeClock
from kinformer.informers import SharedInformerFactory
from kinformer.models import V1ConfigMap
from tests.hostile.scenarios import SCENARIOS
from tests.hostile.server import CANARY, hostile
from tests.turning import eventually, quiet, turn

TOKEN = "t0k3n"

#: Seconds of the clock for which the server attacks: some tries, with the backoff between them.
ATTACKED = 150


def test_there_are_fifty_scenarios() -> None:
    assert len(SCENARIOS) >= 50


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    # The limits are what ends a flood; the smaller they are, the sooner.
    monkeypatch.setattr("kinformer.client.watch._MAX_LINE", 2**14)


async def survives(name: str, type_: type[Any]) -> None:
    clock = FakeClock()
    told: list[str] = []
    attack, kinds = SCENARIOS[name]
    with capture_logs() as logs:
        async with (
            hostile(attack, kinds) as (server, url),
            connect(url=url, token=TOKEN, clock=clock, options=ClientOptions(max_answer=2**20)) as client,
            SharedInformerFactory(client, clock=clock, informer_options=InformerOptions(max_objects=1000)) as informers,
        ):
            informer = informers.informer_for(type_, V1ConfigMap)
            informer.add_event_handler(_Handler(told))
            informers.start()
            await turn(clock, ATTACKED)
            assert server.attacks, "the attack did not take place"
            server.heal()

            def is_well() -> bool:
                # What the server told of without ever taking it back is there as well, as in client-go.
                return informer.has_synced and {"default/a", "default/b"} <= set(informer.indexer.list_keys())

            await eventually(is_well, clock)
            # And it goes on: nothing ended with the attack.
            await turn(clock, 60)
            assert is_well()
            await quiet()
    assert {"add default/a", "add default/b"} <= set(told)
    for entry in logs:
        assert CANARY not in repr(entry)
        assert TOKEN not in repr(entry)
        assert "\x1b" not in "".join(str(value) for value in entry.values())


class _Handler:
    def __init__(self, told: list[str]):
        self._told = told

    def on_add(self, obj: Any, is_in_initial_list: bool = False) -> None:
        self._note("add", obj)

    def on_update(self, old: Any, new: Any) -> None:
        self._note("update", new)

    def on_delete(self, obj: Any) -> None: ...

    def _note(self, what: str, obj: Any) -> None:
        meta = obj["metadata"] if isinstance(obj, dict) else obj.metadata
        name = meta["name"] if isinstance(meta, dict) else meta.name
        self._told.append(f"{what} default/{name}")


@pytest.mark.parametrize("name", SCENARIOS)
async def test_an_informer_of_models_survives(name: str) -> None:
    await survives(name, V1ConfigMap)


@pytest.mark.parametrize("name", [name for name in SCENARIOS if "event" in name or "object" in name or "list" in name])
async def test_an_informer_of_dicts_survives(name: str) -> None:
    await survives(name, dict)
