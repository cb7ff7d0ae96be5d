"""Admission webhooks, called as kube-apiserver calls them.

A write is one step of the event loop and cannot wait for anybody. So a request that a webhook is to be asked about runs
up to there, stops with :exc:`WebhooksPending`, and runs again from the beginning once the answers are there. They count
if the object is still the very one that was shown; if somebody else has changed what it comes from meanwhile, they are
asked about the new one, as the real server does when its write to etcd finds the object modified.
"""

from __future__ import annotations

from kinformer.envtest.webhooks.session import WebhookSession, WebhooksPending
from kinformer.envtest.webhooks.webhooks import ServiceResolver, Webhooks

__all__ = ("ServiceResolver", "WebhookSession", "Webhooks", "WebhooksPending")
