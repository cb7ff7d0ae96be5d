"""Server-side apply: who owns which field of an object, and what an applied configuration makes of it."""

from __future__ import annotations

from kinformer.envtest.apply.managed import apply_configuration, track_update
from kinformer.envtest.apply.shapes import Shape, shape_of_resource

__all__ = ("Shape", "apply_configuration", "shape_of_resource", "track_update")
