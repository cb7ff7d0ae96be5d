"""Webhooks of one's own: functions that validate, change or convert objects, served to API servers over HTTPS.

:class:`Webhooks` has the functions; :class:`WebhookServer` serves them; :class:`CertificateFiles` and
:class:`ClusterCertificate` are what it shows; :func:`configurations` and :class:`Registration` tell API servers of it.
"""

from kinformer.operator.webhooks.certificates import (
    Certificate,
    CertificateError,
    CertificateFiles,
    ClusterCertificate,
    service_hosts,
)
from kinformer.operator.webhooks.configurations import Address, Registration, configurations
from kinformer.operator.webhooks.hooks import AdmissionRequest, Denied, Hook, HookOptions, Webhooks
from kinformer.operator.webhooks.reviews import BadReview, RawRequest, UserInfo
from kinformer.operator.webhooks.server import WebhookServer, WebhookServerError

__all__ = (
    "Address",
    "AdmissionRequest",
    "BadReview",
    "Certificate",
    "CertificateError",
    "CertificateFiles",
    "ClusterCertificate",
    "Denied",
    "Hook",
    "HookOptions",
    "RawRequest",
    "Registration",
    "UserInfo",
    "WebhookServer",
    "WebhookServerError",
    "Webhooks",
    "configurations",
    "service_hosts",
)
