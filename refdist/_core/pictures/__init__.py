"""Pictures of data parallelism, for people who learn it."""
