"""The StatefulSet controller: pods with their own identity and storage, which are started and stopped in order."""
