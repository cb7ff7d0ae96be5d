"""The token cleaner, as in kube-controller-manager: it deletes bootstrap tokens that have expired."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="token-cleaner-controller",
    aliases=("tokencleaner",),
    summary="deletes bootstrap tokens that have expired",
    factory="kinformer_controllers.tokencleaner.controller:TokenCleaner",
    permissions=(
        allow("list watch", "secrets"),
        allow("delete", "secrets", namespace="kube-system"),
    ),
    sharded_by="namespace",
    on_by_default=False,
    page="identity.md#bootstrap-tokens",
    differs="a token that has changed since it was read stays; a deletion that fails is tried again",
)
