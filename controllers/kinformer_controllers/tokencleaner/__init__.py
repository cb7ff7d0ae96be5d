"""The token cleaner: deletes bootstrap tokens that have expired."""
