"""The root CA publisher, as in kube-controller-manager: the ConfigMap ``kube-root-ca.crt`` in every namespace."""
