"""Webhooks of an operator: functions that validate, change or convert objects, served to API servers over HTTPS.

:class:`Webhooks` registers the functions, and :class:`WebhookServer` serves them. :class:`CertificateFiles` and
:class:`ClusterCertificate` are its serving certificates. :func:`configurations` and :class:`Registration` register the
webhooks at the API server.
"""

from kinformer.operator.webhooks.certificates import (
    Certificate,
    CertificateError,
    CertificateFiles,
    ClusterCertificate,
    service_hosts,
)
from kinformer.operator.webhooks.configurations import Address, Registration, configurations
from kinformer.operator.webhooks.hooks import AdmissionRequest, Denied, Webhooks
from kinformer.operator.webhooks.registered import Hook, HookOptions
from kinformer.operator.webhooks.reviews import BadReview, RawRequest, UserInfo
from kinformer.operator.webhooks.server import WebhookServer, WebhookServerError
from kinformer.operator.webhooks.serving import WebhookServing

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
    "WebhookServing",
    "Webhooks",
    "configurations",
    "service_hosts",
)
