from refdist._core.base.api_version import VERSION as VERSION

__all__ = ["VERSION"]
