"""What everything else is written in: nests, enumerations, conversions, and the place where the code is."""
