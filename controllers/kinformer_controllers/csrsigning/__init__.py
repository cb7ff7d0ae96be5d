"""The signers of certificate requests, as in kube-controller-manager: four signers with one or more CAs."""
