"""refdist on the simulator."""

from conformance.implementations.virtual import virtual

simulator = virtual("simulator")
