"""Variables, and how their copies agree."""
