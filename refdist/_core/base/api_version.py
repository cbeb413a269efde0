"""Constants of the API."""

VERSION = "2.21.0"
"""The version of TensorFlow whose behavior counts where its pages are silent; `refdist.__version__` is that of refdist."""

newaxis = None
