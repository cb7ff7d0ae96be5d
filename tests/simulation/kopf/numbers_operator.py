"""An operator in kopf that gives each ConfigMap with the label ``app`` the next number.

With BROKEN set, the last number is in memory only, so it is lost when the operator starts again. The mended form finds
it in an index, which kopf makes from the objects.
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import kopf

NUMBERS = itertools.count(1)


@kopf.index("configmaps", labels={"app": kopf.PRESENT})  # type: ignore[arg-type]  # kopf's own marker
async def numbers(body: kopf.Body, **_: Any) -> int:
    return int(body.get("data", {}).get("number", 0))


@kopf.on.create("configmaps", labels={"app": kopf.PRESENT})  # type: ignore[arg-type]  # as above
async def give(patch: kopf.Patch, numbers: kopf.Index[Any, int], **_: Any) -> None:
    known = max((number for each in numbers.values() for number in each), default=0)
    patch.setdefault("data", {})["number"] = str(next(NUMBERS) if os.environ.get("BROKEN") else known + 1)
