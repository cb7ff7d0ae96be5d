from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from kinformer.bench.pods import SIZES, pod, pod_bytes
from kinformer.models import V1Pod, decode


def test_a_pod_is_as_large_as_a_real_one() -> None:
    sizes = [len(pod_bytes(number).at(1_000_000_000)) for number in (0, 7, 9_999, 999_999)]

    assert all(5_600 <= size <= 5_900 for size in sizes), sizes


@pytest.mark.parametrize("size", SIZES)
def test_a_pod_of_another_size_is_as_large_as_its_name_says(size: str) -> None:
    named = float(size.removesuffix(" KB")) * 1000

    assert abs(len(pod_bytes(7, size=size).at(1_000_000_000)) / named - 1) < 0.03
    assert decode(V1Pod, pod_bytes(7, size=size).at(1)).status.container_statuses[0].restart_count == 0


def test_a_pod_is_one_that_the_models_know() -> None:
    found = decode(V1Pod, pod_bytes(3).at(17))

    assert (found.metadata.namespace, found.metadata.name) == ("team-03", "web-0000003")
    assert found.metadata.resource_version == "17"
    assert [container.name for container in found.spec.containers] == ["server", "sidecar"]
    assert found.status.start_time == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_bytes_are_the_pod_with_its_version_put_in() -> None:
    assert json.loads(pod_bytes(5).at(42)) == pod(5, "42")
    assert pod_bytes(5) == pod_bytes(5)
    assert pod(5, "1")["metadata"]["uid"] != pod(6, "1")["metadata"]["uid"]
