"""Runs a cluster of processes on this machine, until all have ended or the first one fails."""
