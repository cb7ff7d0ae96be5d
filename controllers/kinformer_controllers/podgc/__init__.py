"""The pod garbage collector, as in kube-controller-manager: it deletes pods that no other component deletes."""
