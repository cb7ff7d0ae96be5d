"""Specs: what a manager knows of a controller before it runs it."""

from __future__ import annotations

import sys

import pytest
from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from kinformer.client import connect
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller, ControllerContext, find_name, known_controllers, long_name
from kinformer.manager.checks import parts_of
from kinformer.manager.loading import runnable_of
from kinformer.options import options_of
from kinformer.spec import ControllerSpec
from scripts.catalogue import specs
from tests.golden.keys import key_flags


def test_a_spec_imports_its_factory_when_it_is_called() -> None:
    sys.modules.pop("colorsys", None)
    spec = ControllerSpec(name="colours", factory="colorsys:ONE_THIRD.__add__")

    assert "colorsys" not in sys.modules
    assert spec(1.0) == pytest.approx(4 / 3)


def test_a_factory_that_does_not_exist_is_named() -> None:
    with pytest.raises(ImportError, match="colorsys has no 'paint'"):
        ControllerSpec(name="colours", factory="colorsys:paint").load()


def test_every_builtin_controller_has_one_spec_with_its_names() -> None:
    names = {entry: point.load() for entry, point in known_controllers().items()}

    assert {spec.name for spec in names.values()} == specs().keys()
    for entry, spec in names.items():
        assert entry in (spec.name, *spec.aliases)
        assert spec.name.endswith("-controller"), spec.name
        assert spec.permissions is not None, spec.name
        assert spec.page, spec.name
        assert callable(spec.load()), spec.name
        if spec.options is not None:
            options_of(spec.options)


def test_a_spec_names_the_metrics_that_its_controller_adds() -> None:
    wrong = []
    for name, (package, spec) in specs().items():
        spec.load()
        declared = {metric.removesuffix("_total") for metric in spec.metrics}
        added = {
            value._name
            for path, module in sys.modules.items()
            if path.startswith(f"kinformer_controllers.{package}.")
            for value in vars(module).values()
            if isinstance(value, MetricWrapperBase)
        }
        if declared - set(REGISTRY._names_to_collectors) or added - declared:
            wrong.append((name, declared, added))

    assert not wrong


def test_an_alias_is_another_name_of_the_same_controller() -> None:
    assert long_name("ttl") == "ttl-controller"
    assert long_name("my-own") == "my-own"
    assert find_name("ttl-controller", ["job", "ttl"]) == "ttl"
    assert find_name("nothing", ["job", "ttl"]) is None


async def test_controllers_that_count_what_they_have_made_wait_for_their_own_writes() -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        context = ControllerContext(client, SharedInformerFactory(client), key_flags())
        consistent = {
            part.name
            for _, spec in specs().values()
            for part in parts_of(runnable_of(spec(context)))
            if isinstance(part, Controller) and part.is_consistent
        }

    assert consistent == {
        *("cronjob", "daemonset", "deployment", "disruption", "endpoint", "endpointslice", "endpointslicemirroring"),
        *("job", "migration-runner-controller", "replicaset", "replicationcontroller", "resourceclaim", "statefulset"),
    }


async def test_every_builtin_controller_shows_its_queues_to_the_manager() -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        context = ControllerContext(client, SharedInformerFactory(client), key_flags())

        without = [name for name, (_, spec) in specs().items() if not parts_of(runnable_of(spec(context)))]

    assert not without


def test_a_spec_has_a_factory_or_webhooks() -> None:
    with pytest.raises(ValueError, match="the spec of controller f has neither a factory nor webhooks"):
        ControllerSpec(name="f")
