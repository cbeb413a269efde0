"""What another interpreter runs, too: `python peers` there; nothing here but `peer_process` may need more than numpy."""
