"""What all other rooms use: limits, texts of sizes and times, steps, tables, and loading what numba compiles."""
