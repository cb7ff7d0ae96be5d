"""client-go for Python's asyncio.

This package imports nothing by itself. Import what you need: :mod:`kinformer.client` to talk to an API server,
:mod:`kinformer.informers` and :mod:`kinformer.cache` for a local cache that follows it, :mod:`kinformer.manager` to
write a controller, :mod:`kinformer.envtest` to test it, :mod:`kinformer.models` for the objects.
"""

from __future__ import annotations

from typing import Any

__all__ = ("__version__",)

#: The installed version.
__version__: str


def __getattr__(name: str) -> Any:
    if name == "__version__":
        # This reads a file, so it is done only on demand.
        from importlib.metadata import version

        return version("kinformer")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
