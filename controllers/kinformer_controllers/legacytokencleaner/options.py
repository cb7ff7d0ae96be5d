"""The options of the legacy token cleaner."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration

__all__ = ("TokenCleanerOptions",)


@dataclass(frozen=True)
class TokenCleanerOptions:
    legacy_service_account_token_clean_up_period: float = duration(
        365 * 24 * 3600.0,
        "How long a token in a Secret may be unused. Then it is marked as invalid, and deleted after the same time.",
        minimum=1.0,
    )
