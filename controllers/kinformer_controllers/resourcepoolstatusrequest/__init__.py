"""The answers to ResourcePoolStatusRequests: how many devices a driver's pools have, and how many are in use."""
