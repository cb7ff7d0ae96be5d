"""The bootstrap signer: signs the ConfigMap ``cluster-info`` with each bootstrap token."""
