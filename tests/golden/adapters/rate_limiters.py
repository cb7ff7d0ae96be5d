"""How long rate limiters have items wait, in nanoseconds."""

from __future__ import annotations

from typing import Any

from kinformer.workqueue import (
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
)

_SECOND = 1_000_000_000


def answer(case: Any) -> Any:
    limiter = _limiter(case)
    answers: list[int | None] = []
    for op in case["ops"] or ():
        match op["op"]:
            case "when":
                answers.append(round(limiter.when(op["item"]) * _SECOND))
            case "num_requeues":
                answers.append(limiter.num_requeues(op["item"]))
            case "forget":
                limiter.forget(op["item"])
                answers.append(None)
    return answers


def _limiter(case: Any) -> RateLimiter[str]:
    exponential = ItemExponentialFailureRateLimiter(case["base_ns"] / _SECOND, case["max_ns"] / _SECOND)
    fast_slow = ItemFastSlowRateLimiter(case["fast_ns"] / _SECOND, case["slow_ns"] / _SECOND, case["max_fast_attempts"])
    limiters: dict[str, RateLimiter[str]] = {
        "itemExponentialFailure": exponential,
        "itemFastSlow": fast_slow,
        "maxOf": MaxOfRateLimiter(exponential, fast_slow),
    }
    return limiters[case["kind"]]
