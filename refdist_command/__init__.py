"""What `refdist` does on the command line: a module for each subcommand, which reads its options and calls another package.

It stands beside refdist, because importing anything of refdist imports all of it, and `refdist --help` needs nothing of it.
"""
