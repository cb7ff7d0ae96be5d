"""How many levels within levels are too many for the decoder of this Python."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ("TOO_MANY",)

#: Until 3.13 the interpreter counts levels. Since 3.14 it looks at how much of the stack (8 MB) is left.
TOO_MANY: Final = 10_000 if sys.version_info < (3, 14) else 300_000
