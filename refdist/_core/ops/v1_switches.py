"""What v1 programs call before they begin: behavior is that of v2 here, and variables have their values at once."""

from typing import Any, Never


def enable_v2_behavior() -> None:
    """Accept the call: behavior is that of v2."""


def enable_v2_tensorshape() -> None:
    """Accept the call: shapes are those of v2."""


def enable_resource_variables() -> None:
    """Accept the call: variables are those of v2."""


def enable_control_flow_v2() -> None:
    """Accept the call: a function's control flow is that of v2."""


def enable_tensor_equality() -> None:
    """Accept the call: == compares the elements of tensors."""


def executing_eagerly_outside_functions() -> bool:
    """Say that code outside of functions runs at once."""
    return True


def global_variables_initializer() -> None:
    """Do nothing: variables have their values when they are made."""


def local_variables_initializer() -> None:
    """Do nothing: variables have their values when they are made."""


def tables_initializer(name: Any = "init_all_tables") -> None:
    """Do nothing: tables are filled when they are made."""


def disable_eager_execution() -> Never:
    """Refuse to build graphs for a whole program."""
    raise _refused("disable_eager_execution()")


def disable_v2_behavior() -> Never:
    """Refuse to behave as v1 did."""
    raise _refused("disable_v2_behavior()")


def placeholder(dtype: Any, shape: Any = None, name: Any = None) -> Never:
    """Refuse a tensor that has no value yet."""
    raise RuntimeError(
        f"placeholder({dtype!r}, {shape!r}) was called; expected tensors that have values, because code runs at once. Make it an "
        f"argument of a function, with @tf.function around it."
    )


def _refused(call: str) -> RuntimeError:
    return RuntimeError(
        f"{call} was called; expected eager execution, which is the only one here. Leave the call out, and turn what is given to "
        f"Session.run() into functions, with @tf.function around them."
    )
