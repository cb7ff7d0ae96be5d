"""Admission webhooks, called as kube-apiserver calls them.

A write is one step of the event loop and cannot wait for a webhook. So a request that needs a webhook stops there with
:exc:`WebhooksPending`. The webhooks are called, and the request runs again from the beginning. It uses their answers if
the object is still equal to the one that they were sent. If another write has changed the object in between, the
webhooks are called with the new one. The real server does the same when its write to etcd finds the object modified.
"""

from __future__ import annotations

from kinformer.envtest.webhooks.calling import Caller, ServiceResolver
from kinformer.envtest.webhooks.session import WebhookSession, WebhooksPending
from kinformer.envtest.webhooks.webhooks import Webhooks

__all__ = ("Caller", "ServiceResolver", "WebhookSession", "Webhooks", "WebhooksPending")
