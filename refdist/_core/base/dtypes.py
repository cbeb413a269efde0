"""Numpy's dtypes under their documented names."""

import ml_dtypes
import numpy as np

float16 = np.dtype("float16")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
bool = np.dtype("bool")
string = np.dtype("object")  # byte strings are kept as Python objects
