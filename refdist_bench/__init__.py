"""`refdist bench`: how long refdist takes beside raw JAX, TensorFlow and what the machine can do at most, in one table."""
