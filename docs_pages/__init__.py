"""The pages of the site that are made from the code: the reference, the behaviors, the command line, the schemas."""
