"""What the managers of scenarios are told: key files for controllers that sign, made once a run, a cloud, and gates."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ("key_flags",)


#: The gates of controllers that do not run without them.
_GATES = (
    *("ClusterTrustBundle", "DRAResourcePoolStatus", "GenericWorkload", "PodCertificateRequest"),
    *("StorageVersionAPI", "StorageVersionMigrator"),
)


@cache
def key_flags() -> dict[str, Any]:
    """The options of a manager: the files, and the cloud and the network that the README of the cases describes."""
    folder = Path(tempfile.mkdtemp(prefix="kinformer-keys-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    authority = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "scenarios")])
    # Long before and after whatever the clock of a scenario says.
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(authority.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime.now(UTC) + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), critical=False)
        .sign(authority, hashes.SHA256())
    )
    files = {
        "ca.crt": certificate.public_bytes(serialization.Encoding.PEM),
        "ca.key": _pem(authority),
        "sa.key": _pem(ec.generate_private_key(ec.SECP256R1())),
    }
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return {
        "cloud_provider": "fake",
        "cluster_cidr": "10.244.0.0/16",
        "allocate_node_cidrs": True,
        "route_reconciliation_period": 2.0,
        "horizontal_pod_autoscaler_sync_period": 2.0,
        "cluster_signing_cert_file": str(folder / "ca.crt"),
        "cluster_signing_key_file": str(folder / "ca.key"),
        "root_ca_file": str(folder / "ca.crt"),
        "service_account_private_key_file": str(folder / "sa.key"),
        "feature_gates": ",".join(f"{gate}=true" for gate in _GATES),
    }


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
