from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest

from kinformer.client import Client, connect
from kinformer.informers import SharedInformerFactory
from kinformer.informers.signatures import signature_of
from kinformer.logs import get_logger
from kinformer.models import V1ConfigMap

log = get_logger(__name__)


@dataclass
class Settings:
    keep: tuple[str, ...]

    def __call__(self, obj: Any) -> Any:
        return obj

    def trim(self, obj: Any) -> Any:
        return obj


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with connect(url="http://127.0.0.1:1") as client:
        yield client


def of_module(source: str, **names: Any) -> FunctionType:
    """The function `trim` of a module with this text."""
    module = ModuleType("trimming")
    vars(module).update(names)
    exec(source, vars(module))
    return cast("FunctionType", module.trim)


def transform_in(client: Client, function: Callable[[Any], Any]) -> str | None:
    informer = SharedInformerFactory(client, transform=function).informer_for(V1ConfigMap)
    signature = signature_of(informer)
    return None if signature is None else signature["transform"]


READS = "def trim(obj):\n    return settings and obj"
CALLS = "def trim(obj):\n    return settings.trim(obj)"
NESTED = "def trim(obj):\n    return [settings for _ in obj]"


def module(source: str) -> ModuleType:
    made = ModuleType("helping")
    exec(source, vars(made))
    return made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of_module("def trim(obj):\n    return obj"), of_module("def trim(obj):\n    return None")),
        (of_module("def trim(obj, keep=1):\n    return obj"), of_module("def trim(obj, keep=2):\n    return obj")),
        (of_module("def trim(obj, *, keep=1):\n    pass"), of_module("def trim(obj, *, keep=2):\n    pass")),
        (of_module("def trim(obj):\n    return obj.a"), of_module("def trim(obj):\n    return obj.b")),
        (of_module(READS, settings=("a",)), of_module(READS, settings=("b",))),
        (of_module(READS, settings={"a": 1}), of_module(READS, settings={"a": 2})),
        (of_module(READS, settings=re.compile("a")), of_module(READS, settings=re.compile("b"))),
        (of_module(READS, settings=Settings(("a",))), of_module(READS, settings=Settings(("b",)))),
        (of_module(READS, settings=lambda: 1), of_module(READS, settings=lambda: 2)),
        (of_module(NESTED, settings=["a"]), of_module(NESTED, settings=["b"])),
        (
            of_module(CALLS, settings=module("def trim(obj):\n    return 1")),
            of_module(CALLS, settings=module("def trim(obj):\n    return 2")),
        ),
    ],
)
async def test_a_transform_that_does_something_else_has_another_signature(
    client: Client, one: FunctionType, other: FunctionType
) -> None:
    signatures = transform_in(client, one), transform_in(client, other)

    assert None not in signatures
    assert signatures[0] != signatures[1]


@pytest.mark.parametrize(
    "function",
    [
        Settings(()),
        Settings(()).trim,
        of_module(READS, settings=object()),
        (lambda keep: lambda obj: (obj, keep)[0])(1),
    ],
)
async def test_a_transform_that_depends_on_an_object_has_no_signature(
    client: Client, function: Callable[[Any], Any]
) -> None:
    assert transform_in(client, function) is None


async def test_a_call_of_a_transform_does_not_change_its_signature(client: Client) -> None:
    trim = of_module('def trim(obj):\n    obj["note"] = "left out, to save memory"\n    return obj')
    before = transform_in(client, trim)
    told: dict[str, str] = {}
    trim(told)

    assert transform_in(client, trim) == before


async def test_a_transform_may_log_call_libraries_and_call_itself(client: Client) -> None:
    source = "def trim(obj):\n    log.info('trim', at=sys.maxsize)\n    return trim(re.sub('a', 'b', obj))"

    assert transform_in(client, of_module(source, log=log, sys=sys, re=re))
