"""Trust in a webhook's certificate that Go accepts, and OpenSSL does not."""

from __future__ import annotations

import ssl
from typing import Final

from anyio.to_thread import run_sync

from kinformer.certificates import CertificatesUnavailable, is_signed_by

__all__ = ("trust_namesake",)

#: X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT of OpenSSL.
_SELF_SIGNED: Final = 18


async def trust_namesake(
    context: ssl.SSLContext, authorities: bytes, address: tuple[str, int], refusal: Exception
) -> bool:
    """
    Trust the certificate of a server if it was signed by a CA that has the same name.

    OpenSSL takes such a certificate for self-signed if it does not identify its CA's key, and refuses it. Go looks for
    the signature. Programs made with Knative's libraries have such certificates for their webhooks.

    :param context: it has refused the certificate. It then trusts this certificate, and still checks its names and time
    :param authorities: the certificates of the CAs that the context trusts, in PEM
    :param address: host and port of the server
    :param refusal: the error of the connection
    :return: whether it is trusted now. False also if the package `cryptography`, which reads signatures, is missing
    """
    if not isinstance(refusal, ssl.SSLCertVerificationError) or refusal.verify_code != _SELF_SIGNED:
        return False
    try:
        served = await run_sync(ssl.get_server_certificate, address, abandon_on_cancel=True)
        if not is_signed_by(served.encode(), authorities):
            return False
    except (OSError, CertificatesUnavailable):
        return False
    context.load_verify_locations(cadata=served)
    return True
