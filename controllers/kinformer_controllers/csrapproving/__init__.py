"""The approver of certificate requests, as in kube-controller-manager: it approves kubelets' client certificates."""
