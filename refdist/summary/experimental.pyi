from refdist._core.files.summaries import get_step as get_step, set_step as set_step, summary_scope as summary_scope

__all__ = ["get_step", "set_step", "summary_scope"]
