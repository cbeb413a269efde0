"""What tests of a program may ask beyond the documentation: what it did on its replicas, and whether their number changes it."""
