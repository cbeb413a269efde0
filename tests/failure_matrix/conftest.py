collect_ignore = ["worker_program.py"]  # it is a program, and does what it does when it is loaded
