"""refdist on numpy arrays that carry a device label."""

from conformance.implementations.virtual import virtual

host = virtual("host")
