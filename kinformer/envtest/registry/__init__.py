"""What the server serves: resources by group and version, and custom ones as they are defined."""

from __future__ import annotations

from kinformer.envtest.registry.resources import Registry, Resource, Subresource
from kinformer.envtest.registry.table import METADATA

__all__ = ("METADATA", "Registry", "Resource", "Subresource")
