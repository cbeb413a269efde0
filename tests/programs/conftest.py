"""Nothing in this folder is a test: tests/test_programs.py runs the programs, which import TensorFlow as they are."""

collect_ignore_glob = ["*.py"]
