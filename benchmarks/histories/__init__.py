"""Random histories of hosts over one log, with faults, judged by a model of its own."""
