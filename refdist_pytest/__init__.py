"""The pytest plugin of refdist: a package beside it, because importing anything of refdist would import all of it."""
