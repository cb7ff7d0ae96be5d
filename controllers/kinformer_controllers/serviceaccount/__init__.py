"""The service account controller, as in kube-controller-manager: the account ``default`` in every namespace."""
