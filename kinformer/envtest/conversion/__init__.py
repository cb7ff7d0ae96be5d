"""Custom resources of several versions that a webhook converts.

Objects are stored once, at the definition's storage version. Each version that a client requests has a mirror: a
history of the same changes, converted to that version. Reads and watches at that version use the mirror. A write to a
mirror is converted and stored first, and is then added to the mirror. So the server always handles an object at the
version of the request.
"""

from __future__ import annotations

from kinformer.envtest.conversion.mirrors import Conversions, VersionMirror

__all__ = ("Conversions", "VersionMirror")
