"""Custom resources of several versions that a webhook converts.

Objects are stored once, at the definition's storage version. Each version that is asked for has a mirror: a history of
the same changes, converted as they come, from which reads and watches at that version are served like any others. A
write goes the other way: what is written into a mirror is converted and stored, and only then is in the mirror. So all
that the server does with an object it does at the version of the request.
"""

from __future__ import annotations

from kinformer.envtest.conversion.mirrors import Conversions, VersionMirror

__all__ = ("Conversions", "VersionMirror")
