"""What an object costs grows in proportion to its size: no check looks at each item once for every other one."""

from __future__ import annotations

from kinformer.envtest import ApiServer
from kinformer.envtest.strategy.job_checks import JOB
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


class Compared(int):
    """A number that counts how often its kind is compared."""

    count = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return super().__eq__(other)


def test_exit_codes_are_not_compared_with_each_other() -> None:
    codes = {"operator": "In", "values": [Compared(number) for number in range(1, 201)]}
    policy = {"rules": [{"action": "FailJob", "onExitCodes": codes}]}

    causes = list(JOB({"metadata": {"name": "j"}, "spec": {"podFailurePolicy": policy, "template": {}}}, ""))

    assert not [cause for cause in causes if "onExitCodes" in cause.field]
    assert 0 < Compared.count < 3 * len(codes["values"])
