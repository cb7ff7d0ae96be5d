"""The cleaner of PodCertificateRequests, as in kube-controller-manager: it deletes old ones."""
