"""The commands of the command line, one module for each; every one takes the options and returns the exit code."""
