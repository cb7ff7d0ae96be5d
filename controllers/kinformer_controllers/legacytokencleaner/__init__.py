"""The legacy token cleaner, as in kube-controller-manager: it deletes Secrets with tokens that are not used."""
