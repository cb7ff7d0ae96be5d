"""Code that the controllers of CertificateSigningRequests share."""

from __future__ import annotations

__all__ = ()
