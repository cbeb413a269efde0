"""What `refdist` does on the command line: a module for each subcommand, which reads its options and calls another room."""
