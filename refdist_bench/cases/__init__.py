"""What is measured: a module for each kind, with a function that makes its cases."""
