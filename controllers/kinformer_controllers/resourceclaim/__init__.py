"""The ResourceClaim controller: makes the claims of pods from templates, reserves them, and releases them."""
