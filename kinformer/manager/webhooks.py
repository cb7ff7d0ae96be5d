"""Webhooks of a manager: what it asks of the part that serves them, :mod:`kinformer.operator.webhooks`.

Controllers declare webhooks beside themselves. A manager that is given settings serves them: every replica answers API
servers, whether it leads or not, and the leader tells API servers where the webhooks are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kinformer.client import Client
from kinformer.manager.context import ControllerContext
from kinformer.manager.inspection.views import WebhookView

__all__ = ("ServedWebhooks", "WebhookSettings")


class ServedWebhooks(Protocol):
    """The webhooks of one manager."""

    async def run(self) -> None:
        """Serve until cancelled. Every replica does."""

    async def register(self, client: Client) -> None:
        """
        Keep the registration at the API server up to date until cancelled. Only the leader does.

        :param client: writes only while this process leads
        """

    def unready(self) -> str:
        """Why this replica does not serve; empty if it does."""

    def views(self) -> list[WebhookView]:
        """The state of each webhook."""


class WebhookSettings(Protocol):
    """How webhooks are served: :class:`kinformer.operator.webhooks.WebhookServing`."""

    def serve(self, declared: Sequence[Any], context: ControllerContext, client: Client) -> ServedWebhooks:
        """
        Make what serves webhooks.

        :param declared: what the controllers declare, in no particular order
        :param context: the manager's, for the functions of the webhooks
        :param client: for what every replica reads and writes
        :raises OptionError: if a setting is missing
        """
