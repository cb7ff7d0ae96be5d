"""Random scenarios: what users do in each, how it is played against any server and manager, how two runs compare."""
