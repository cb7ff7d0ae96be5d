"""The signers of certificate requests, as in kube-controller-manager: four signers with one or more CAs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from kinformer.options import OptionError, duration, option
from kinformer.permissions import Rule, allow
from kinformer.spec import ControllerSpec

__all__ = ("SIGNERS", "SignerFiles", "SigningOptions", "signer_files", "SPEC")


#: The word for each signer in the names of flags, and the signer's own name.
SIGNERS: Final = {
    "kubelet_serving": "kubernetes.io/kubelet-serving",
    "kubelet_client": "kubernetes.io/kube-apiserver-client-kubelet",
    "kube_apiserver_client": "kubernetes.io/kube-apiserver-client",
    "legacy_unknown": "kubernetes.io/legacy-unknown",
}


def _certificate(of: str) -> str:
    return option("", f"File with the certificate, in PEM, of the authority {of}.")


def _key(of: str) -> str:
    return option("", f"File with the RSA or ECDSA key, in PEM, of the authority {of}.")


_INSTEAD: Final = "in place of --cluster-signing-cert-file"


@dataclass(frozen=True)
class SigningOptions:
    cluster_signing_cert_file: str = _certificate("that signs certificate requests")
    cluster_signing_key_file: str = _key("that signs certificate requests")
    cluster_signing_duration: float = duration(
        365 * 24 * 3600.0,
        "How long the certificates that are signed are valid at most. A request may ask for less.",
        minimum=600.0,
    )
    cluster_signing_kubelet_serving_cert_file: str = _certificate(f"for kubelets' serving certificates, {_INSTEAD}")
    cluster_signing_kubelet_serving_key_file: str = _key("for kubelets' serving certificates")
    cluster_signing_kubelet_client_cert_file: str = _certificate(f"for kubelets' client certificates, {_INSTEAD}")
    cluster_signing_kubelet_client_key_file: str = _key("for kubelets' client certificates")
    cluster_signing_kube_apiserver_client_cert_file: str = _certificate(f"for clients' certificates, {_INSTEAD}")
    cluster_signing_kube_apiserver_client_key_file: str = _key("for clients' certificates")
    cluster_signing_legacy_unknown_cert_file: str = _certificate(f"for kubernetes.io/legacy-unknown, {_INSTEAD}")
    cluster_signing_legacy_unknown_key_file: str = _key("for kubernetes.io/legacy-unknown")


class SignerFiles(NamedTuple):
    """The files of one CA: the paths of its certificate and its key."""

    certificate: str
    key: str


def signer_files(options: SigningOptions) -> dict[str, SignerFiles]:
    """
    Return the CA's files for each signer's name. Signers without a CA are left out.

    :raises OptionError: if there are files for all signers and for one, or a certificate without a key or vice versa
    """
    for_all = SignerFiles(options.cluster_signing_cert_file, options.cluster_signing_key_file)
    own = {
        signer: SignerFiles(
            getattr(options, f"cluster_signing_{word}_cert_file"), getattr(options, f"cluster_signing_{word}_key_file")
        )
        for word, signer in SIGNERS.items()
    }
    own = {signer: files for signer, files in own.items() if any(files)}
    if all(for_all) and own:
        raise OptionError(
            "--cluster-signing-cert-file is for all signers, and cannot be given together with files for "
            f"{', '.join(own)}: give either one or the other"
        )
    chosen = own or (dict.fromkeys(SIGNERS.values(), for_all) if any(for_all) else {})
    for signer, files in chosen.items():
        if not all(files):
            missing = "key" if files.certificate else "certificate"
            raise OptionError(f"the signer {signer} has no file for its {missing}: want both, certificate and key")
    return chosen


SPEC: Final = ControllerSpec(
    name="certificatesigningrequest-signing-controller",
    aliases=("csrsigning",),
    summary="signs certificates",
    factory="kinformer_controllers.csrsigning.controller:SigningController",
    options=SigningOptions,
    permissions=(
        allow("list watch", "certificatesigningrequests.certificates.k8s.io"),
        allow("update", "certificatesigningrequests.certificates.k8s.io/status"),
        Rule(("sign",), ("signers.certificates.k8s.io",), names=tuple(SIGNERS.values())),
    ),
    sharded_by="name",
    page="identity.md",
    differs="one queue for the four signers",
)
