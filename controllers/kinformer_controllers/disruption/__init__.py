"""The disruption controller: writes into each PodDisruptionBudget's status how many pods may be evicted now."""
