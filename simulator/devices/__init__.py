"""Virtual devices as refdist sees them: values, memory and time."""
