"""What an object costs grows in proportion to its size: no check looks at each item once for every other one."""

from __future__ import annotations

from kinformer.envtest import ApiServer
from tests.fuzz.growth import MOST, every_growing, measure, some

#: Lists whose cost once grew with the square of their length.
ONCE_TOO_FAST = (
    "Pod spec.topologySpreadConstraints",
    "ResourceQuota spec.scopes",
    "Service spec.ipFamilies",
    "ValidatingAdmissionPolicyBinding spec.validationActions",
)


async def test_four_times_as_many_items_cost_four_times_as_much(server: ApiServer) -> None:
    """A part of all; ``python -m tests.fuzz growth`` measures every list of every kind."""
    growings = list(every_growing(server))
    chosen = some(growings, ONCE_TOO_FAST, seed=1, count=6)
    assert len(chosen) == len(ONCE_TOO_FAST) + 6
    async for growth in measure(server, chosen, items=500):
        assert growth.times < MOST, f"{growth.method} {growth.growing}: {growth.times:.1f} times the cost"
