"""What several tests of the quota webhook share."""

from __future__ import annotations

import pytest

from kinformer.meta import GroupResource
from kinformer_controllers.shared.quota import monitor


@pytest.fixture
def only_pods_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the sixty kinds that a quota can limit, the webhooks follow pods alone: a simulated world is cheaper."""
    choose, pods = monitor.quotable_resources, GroupResource("", "pods")
    monkeypatch.setattr(monitor, "quotable_resources", lambda served: {pods: choose(served)[pods]})
