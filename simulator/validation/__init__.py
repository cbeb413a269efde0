"""Public measurements, and a picture of them beside predictions."""
