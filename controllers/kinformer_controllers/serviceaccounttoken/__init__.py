"""The service account token controller, as in kube-controller-manager: it fills Secrets with tokens of accounts."""
