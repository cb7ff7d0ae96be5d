"""The status of ValidatingAdmissionPolicies: warnings about the types in their expressions."""
