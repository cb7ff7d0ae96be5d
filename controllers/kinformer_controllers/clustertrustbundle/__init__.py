"""The publisher of the API server's authorities: a ClusterTrustBundle with the certificates by which it is known."""
