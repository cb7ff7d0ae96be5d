"""The ephemeral volume controller: makes the claims of pods' ephemeral volumes."""
