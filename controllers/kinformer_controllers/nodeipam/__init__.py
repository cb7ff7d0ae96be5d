"""The node IPAM controller: assigns each node a part of the cluster's network for its pods."""
