"""The horizontal pod autoscaler: sets the number of pods of a target by the metrics of its pods."""
