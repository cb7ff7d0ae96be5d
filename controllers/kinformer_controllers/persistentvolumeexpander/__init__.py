"""The expansion of volumes, as in kube-controller-manager: it expands a volume if its claim asks for more storage."""
