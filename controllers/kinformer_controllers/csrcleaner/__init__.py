"""The cleaner of certificate requests, as in kube-controller-manager: it deletes old CertificateSigningRequests."""
