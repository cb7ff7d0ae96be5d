"""Write docs/names.md: the public names of the library, by the package that they are imported from.

Run ``python -m scripts.names`` after a public name was added, moved or removed. A test in ``tests/docs`` checks that
the page is up to date, and that it has each name that the documentation uses.
"""

from __future__ import annotations

import importlib
import textwrap
from pathlib import Path
from typing import Final

__all__ = ("MODULES", "PAGE", "main", "names_text")

PAGE: Final = Path(__file__).parents[1] / "docs" / "names.md"

#: The packages in the order of the README, and below each the modules of it that users import from.
MODULES: Final = (
    "kinformer.client",
    "kinformer.sync",
    "kinformer.meta",
    "kinformer.cache",
    "kinformer.cache.division",
    "kinformer.cache.testing",
    "kinformer.cache.watch_errors",
    "kinformer.workqueue",
    "kinformer.informers",
    "kinformer.record",
    "kinformer.manager",
    "kinformer.manager.checks",
    "kinformer.manager.serving.metrics",
    "kinformer.manager.tracing",
    "kinformer.leaderelection",
    "kinformer.sharding",
    "kinformer.operator",
    "kinformer.operator.webhooks",
    "kinformer.controllerutil",
    "kinformer.controllerutil.handlers",
    "kinformer.controllerutil.owning",
    "kinformer.placement.affinity",
    "kinformer.placement.taints",
    "kinformer.schedules.schedule",
    "kinformer.schedules.zones",
    "kinformer.permissions",
    "kinformer.options",
    "kinformer.spec",
    "kinformer.clock",
    "kinformer.logs",
    "kinformer.cluster",
    "kinformer.collector",
    "kinformer.envtest",
    "kinformer.envtest.admission",
    "kinformer.envtest.containers",
    "kinformer.envtest.nodes",
    "kinformer.envtest.status",
    "kinformer.simulation",
    "kinformer.simulation.kopf_operator",
)

_HEAD: Final = """# Where each name is

The public names, below the package that they are imported from: `from kinformer.cache import InformerOptions`.
Names of the API's objects, such as `V1Pod`, are in `kinformer.models`, with `from_dict`, `to_dict` and `LazyDict`.
[These tables](coming-from.md) have what is called otherwise in client-go, controller-runtime and kopf.
"""


def names_text() -> str:
    """The text of the page."""
    return _HEAD + "".join(f"\n## {module}\n\n{_listed(module)}\n" for module in MODULES)


def _listed(module: str) -> str:
    names = sorted(importlib.import_module(module).__all__, key=str.lower)
    return textwrap.fill(", ".join(f"`{name}`" for name in names), 120)


def main() -> None:
    PAGE.write_text(names_text())


if __name__ == "__main__":
    main()
