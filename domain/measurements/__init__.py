"""What profilers and test runs report of data: a time series beside the log, never metadata."""
