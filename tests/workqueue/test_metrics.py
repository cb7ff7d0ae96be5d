"""Metrics: Kubernetes' names and buckets, made when they are asked for."""

from __future__ import annotations

import gc
import re
from collections.abc import Hashable, Iterator

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from kinformer.clock import Clock, FakeClock
from kinformer.workqueue import (
    DelayingQueue,
    NoMetrics,
    PrometheusMetrics,
    Queue,
    QueueMetrics,
    default_provider,
    metrics,
    set_default_provider,
)


class Scrape:
    """What a registry says of one queue."""

    def __init__(self, registry: CollectorRegistry, name: str = "test") -> None:
        self._registry = registry
        self._name = name

    def __getitem__(self, metric: str) -> float | None:
        return self._registry.get_sample_value(f"workqueue_{metric}", {"name": self._name})

    def bucket(self, metric: str, bound: str) -> float | None:
        return self._registry.get_sample_value(f"workqueue_{metric}_bucket", {"name": self._name, "le": bound})


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def provider(registry: CollectorRegistry) -> PrometheusMetrics:
    return PrometheusMetrics(registry)


@pytest.fixture
def default() -> Iterator[None]:
    """Puts the default provider back."""
    before = metrics._default
    yield
    metrics._default = before


def test_an_item_is_followed_from_its_add_until_it_is_done(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, metrics=provider)
    scrape = Scrape(registry)

    queue.add("foo")
    assert scrape["adds_total"] == 1
    assert scrape["depth"] == 1

    clock.turn(50e-6)
    item = queue.get_nowait()
    assert scrape["queue_duration_seconds_sum"] == pytest.approx(5e-5)
    assert scrape["queue_duration_seconds_count"] == 1

    for _ in range(5):
        queue.add(item)
    assert scrape["adds_total"] == 2
    assert scrape["depth"] == 1

    clock.turn(25e-6)
    queue.done(item)
    assert scrape["work_duration_seconds_sum"] == pytest.approx(2.5e-5)
    assert scrape["work_duration_seconds_count"] == 1
    assert scrape["depth"] == 1

    item = queue.get_nowait()
    assert scrape["queue_duration_seconds_sum"] == pytest.approx(5e-5 + 2.5e-5)
    assert scrape["queue_duration_seconds_count"] == 2

    clock.turn(1e-3)
    assert scrape["unfinished_work_seconds"] == pytest.approx(0.001)
    assert scrape["longest_running_processor_seconds"] == pytest.approx(0.001)

    queue.done(item)
    assert scrape["work_duration_seconds_sum"] == pytest.approx(2.5e-5 + 0.001)
    assert scrape["work_duration_seconds_count"] == 2
    assert scrape["unfinished_work_seconds"] == 0
    assert scrape["longest_running_processor_seconds"] == 0


def test_unfinished_work_sums_all_workers_and_the_longest_is_one(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, metrics=provider)
    queue.add("foo")
    queue.add("bar")

    queue.get_nowait()
    clock.turn(2.0)
    queue.get_nowait()
    clock.turn(1.0)

    assert Scrape(registry)["unfinished_work_seconds"] == pytest.approx(4.0)
    assert Scrape(registry)["longest_running_processor_seconds"] == pytest.approx(3.0)


def test_a_shut_down_queue_asks_its_clock_for_nothing(provider: PrometheusMetrics) -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, metrics=provider)
    queue.add("foo")
    queue.get_nowait()
    assert clock.next_due is None

    queue.shut_down()

    assert clock.next_due is None


def test_every_delayed_add_is_a_retry_until_the_queue_shuts_down(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    queue: DelayingQueue[str] = DelayingQueue("test", clock=FakeClock(), metrics=provider)

    queue.add_after("foo", 1.0)
    queue.add_after("foo", 0.0)
    queue.add("foo")
    queue.shut_down()
    queue.add_after("foo", 1.0)

    assert Scrape(registry)["retries_total"] == 2


def test_durations_fall_into_the_buckets_that_kubernetes_has(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, metrics=provider)
    queue.add("foo")
    clock.turn(0.5)
    queue.get_nowait()
    clock.turn(100.0)
    queue.done("foo")

    text = generate_latest(registry).decode()
    bounds = re.findall(r'workqueue_queue_duration_seconds_bucket\{le="([^"]+)",name="test"\}', text)

    assert [float(bound) for bound in bounds] == [
        *(1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1.0, 10.0),
        float("inf"),
    ]
    scrape = Scrape(registry)
    assert scrape.bucket("queue_duration_seconds", "0.1") == 0
    assert scrape.bucket("queue_duration_seconds", "1.0") == 1
    assert scrape.bucket("work_duration_seconds", "10.0") == 0
    assert scrape.bucket("work_duration_seconds", "+Inf") == 1


def test_the_names_and_types_are_those_of_every_kubernetes_component(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    Queue[str]("test", metrics=provider)

    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", generate_latest(registry).decode(), re.MULTILINE))

    assert types == {
        "workqueue_depth": "gauge",
        "workqueue_adds_total": "counter",
        "workqueue_queue_duration_seconds": "histogram",
        "workqueue_work_duration_seconds": "histogram",
        "workqueue_unfinished_work_seconds": "gauge",
        "workqueue_longest_running_processor_seconds": "gauge",
        "workqueue_retries_total": "counter",
    }


def test_queues_of_one_name_share_its_series_and_others_have_theirs(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    first: Queue[str] = Queue("test", metrics=provider)
    second: Queue[str] = Queue("test", metrics=provider)
    other: Queue[str] = Queue("other", metrics=provider)

    first.add("foo")
    second.add("foo")
    other.add("foo")

    assert Scrape(registry)["depth"] == 2
    assert Scrape(registry, "other")["depth"] == 1


def test_a_series_outlives_its_queue_but_abandoned_work_does_not(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    clock = FakeClock()
    queue: Queue[str] = Queue("test", clock=clock, metrics=provider)
    queue.add("foo")
    queue.get_nowait()
    clock.turn(1.0)
    assert Scrape(registry)["unfinished_work_seconds"] == pytest.approx(1.0)

    del queue
    gc.collect()

    assert Scrape(registry)["adds_total"] == 1
    assert Scrape(registry)["unfinished_work_seconds"] == 0
    Queue[str]("test", clock=clock, metrics=provider)
    assert Scrape(registry)["adds_total"] == 1


def test_a_queue_without_a_name_has_no_metrics(registry: CollectorRegistry, provider: PrometheusMetrics) -> None:
    queue: DelayingQueue[str] = DelayingQueue(clock=FakeClock(), metrics=provider)

    queue.add("foo")
    queue.add_after("foo", 1.0)
    queue.done(queue.get_nowait())

    assert "name=" not in generate_latest(registry).decode()


def test_done_with_what_nobody_holds_is_not_measured(registry: CollectorRegistry, provider: PrometheusMetrics) -> None:
    queue: Queue[str] = Queue("test", metrics=provider)

    queue.done("foo")

    assert Scrape(registry)["work_duration_seconds_count"] == 0


def test_no_metrics_are_kept_for_who_wants_none() -> None:
    queue: Queue[str] = Queue("test", metrics=NoMetrics())

    queue.add("foo")
    queue.done(queue.get_nowait())

    assert queue._metrics is None


def test_a_registry_takes_them_once(registry: CollectorRegistry, provider: PrometheusMetrics) -> None:
    with pytest.raises(ValueError, match="Duplicated"):
        PrometheusMetrics(registry)


def test_who_registers_them_elsewhere_says_so(registry: CollectorRegistry) -> None:
    provider = PrometheusMetrics(registry=None)
    Queue[str]("test", metrics=provider).add("foo")
    assert Scrape(registry)["depth"] is None

    registry.register(provider)

    assert Scrape(registry)["depth"] == 1


def test_a_provider_of_ones_own_hears_of_everything() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.heard: list[tuple[str, Hashable]] = []

        def metrics_of(self, name: str, clock: Clock) -> QueueMetrics | None:
            self.heard.append(("name", name))
            return self

        def add(self, item: Hashable) -> None:
            self.heard.append(("add", item))

        def get(self, item: Hashable) -> None:
            self.heard.append(("get", item))

        def done(self, item: Hashable) -> None:
            self.heard.append(("done", item))

        def retry(self) -> None:
            self.heard.append(("retry", None))

    recorder = Recorder()
    queue: DelayingQueue[str] = DelayingQueue("test", clock=FakeClock(), metrics=recorder)
    queue.add_after("foo", 0.0)
    queue.add("foo")
    queue.done(queue.get_nowait())

    assert recorder.heard == [("name", "test"), ("retry", None), ("add", "foo"), ("get", "foo"), ("done", "foo")]


@pytest.mark.usefixtures("default")
def test_the_default_provider_is_prometheus_own_registry_until_another_is_set() -> None:
    # Queues of other tests may have registered it already; one registry takes it once.
    others = metrics._default
    if isinstance(others, PrometheusMetrics):
        REGISTRY.unregister(others)
    metrics._default = None
    first = default_provider()
    try:
        assert default_provider() is first
        Queue[str]("test-of-the-default").add("foo")
        assert Scrape(REGISTRY, "test-of-the-default")["depth"] == 1

        set_default_provider(NoMetrics())
        Queue[str]("test-of-no-default").add("foo")
        assert Scrape(REGISTRY, "test-of-no-default")["depth"] is None
    finally:
        assert isinstance(first, PrometheusMetrics)
        REGISTRY.unregister(first)
        if isinstance(others, PrometheusMetrics):
            REGISTRY.register(others)


class _Buffer:
    waiting, taken = 2, 5


def test_a_buffer_that_is_no_queue_shows_its_depth_and_adds(
    registry: CollectorRegistry, provider: PrometheusMetrics
) -> None:
    buffer, scrape = _Buffer(), Scrape(registry)
    provider.show_buffer("test", buffer)
    assert (scrape["depth"], scrape["adds_total"], scrape["retries_total"]) == (2, 7, None)

    del buffer
    gc.collect()
    assert scrape["depth"] is None
