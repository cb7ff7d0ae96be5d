"""The protection of claims, as in kube-controller-manager: a claim is not deleted while pods use it."""
