"""What to do about a body that cannot become a program."""

import traceback
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base.call_sites import line_text, of_user
from refdist._core.base.jax_facts import asks_for_a_value, mentions_tracer, outlived_its_trace

NO_VALUE = (
    "the value of a tensor was asked for, which is not known before the program runs. Write `if` and loops over tensors in "
    "functions of your own, which are converted unless autograph=False (as on TensorFlow, `call` of a Keras layer is not: use "
    "tf.cond or tf.while_loop there, or make it a tf.function); use jax.numpy in place of numpy; or take @tf.function away"
)
LEAKED = (
    "it uses a tensor that another trace has left in a list, an attribute or the like, which has no value after that trace. "
    "Return the tensor from the function that makes it, or keep it in a tf.Variable"
)
SHARED = (
    "it changes an object of flax that was made outside, whose state is no part of the program. Keep the state in a "
    "tf.VariableTree and assign to that, or change the object outside of the function"
)
NOWHERE = "its tensors are not on a device before the program runs. Use tf.device_name(tensor), or ask outside of the function"


def explain(error: BaseException, fn: Callable[..., Any], unconverted: Sequence[str] = ()) -> None:
    """Say where in the user's code a body could not be traced, and what to do.

    Args:
        unconverted: what the functions are that could not be converted, and why.
    """
    advice, name = advice_on(error), getattr(fn, "__qualname__", repr(fn))
    if advice is LEAKED:
        error.add_note(f"The function {name} could not be traced: {advice}.")  # JAX says where it was made
        return
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if of_user(frame.filename)]
    if advice is not None and (frames or unconverted):
        last = frames[-1] if frames else None
        place = f" at {line_text(last.filename, last.lineno or 0)}, in {last.name}" if last else ""
        error.add_note(f"The function {name} could not be traced{place}: {advice}.")
        for reason in dict.fromkeys(unconverted):
            error.add_note(reason)


def advice_on(error: BaseException) -> str | None:
    """What to do if an error comes from tensors that have no value yet, or no longer have one; None for all other errors."""
    if outlived_its_trace(error):
        return LEAKED
    if "different trace level" in str(error):  # as flax.nnx says it
        return SHARED
    # Some operations of Python and numpy raise errors of their own, such as for a missing .numpy() or in formatting.
    named = isinstance(error, (AttributeError, TypeError)) and mentions_tracer(error)
    if named and getattr(error, "name", None) == "device":
        return NOWHERE
    return NO_VALUE if named or asks_for_a_value(error) else None
