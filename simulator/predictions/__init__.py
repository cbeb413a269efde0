"""How long collectives and training steps take, without values."""
