"""A small distributed program as data, and as the Python text that every mode runs."""

import dataclasses
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

DTYPES = (
    *("bool", "int8", "uint8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "string"),
)


class Step(NamedTuple):
    """One statement: operands are names such as "x0" and "v1", numbers, or nests of names."""

    verb: str
    operands: tuple[Any, ...]
    results: int = 1


@dataclasses.dataclass(frozen=True)
class Variable:
    dtype: str
    value: Any  # a number, or nested lists of numbers
    synchronization: str
    aggregation: str


@dataclasses.dataclass(frozen=True)
class Input:
    dtype: str
    parts: tuple[Any, ...]  # for each replica a number, or nested lists of numbers
    row: tuple[int, ...] = ()  # the shape of a row, which a list without rows does not tell

    @property
    def uneven(self) -> bool:
        return len({array(part, self.dtype, self.row).shape for part in self.parts}) > 1


@dataclasses.dataclass(frozen=True)
class Program:
    """What each replica does with its inputs, and what is done outside of the replicas with what they return."""

    strategy: str
    replicas: int
    inputs: tuple[Input, ...]
    variables: tuple[Variable, ...]
    body: tuple[Step, ...]
    after: tuple[Step, ...]
    calls: int = 2


def array(value: Any, dtype: str, row: tuple[int, ...] = ()) -> np.ndarray:
    """The array of a literal; text is kept as byte strings."""
    if dtype == "string":
        made = np.array(value, dtype=object)
        return np.array([text.encode() for text in made.ravel()], dtype=object).reshape(made.shape)
    made = np.array(value, dtype=ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return made.reshape((0, *row)) if made.size == 0 and row else made


# What a statement is in Python. Names of TensorFlow's own only, so that TensorFlow can be asked as well.
TEMPLATES = {
    **{operator: f"{{0}} {operator} {{1}}" for operator in ("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=")},
    "neg": "-{0}",
    "abs": "abs({0})",
    "square": "tf.square({0})",
    "identity": "tf.identity({0})",
    "constant": "tf.constant(array({0}, {1}))",
    "cast": "tf.cast({0}, {1})",
    "sum": "tf.reduce_sum({0}, axis={1})",
    "mean": "tf.reduce_mean({0}, axis={1})",
    "index": "{0}[{1}]",
    "concat": "tf.concat([{0}, {1}], axis={2})",
    "stack": "tf.stack([{0}, {1}], axis={2})",
    "matmul": "tf.matmul({0}, tf.constant(array({1}, {2})))",
    "shape": "tf.shape({0})",
    "own index": "{0}[tf.distribute.get_replica_context().replica_id_in_sync_group % 2]",
    "own step": "{0} * {1} if tf.distribute.get_replica_context().replica_id_in_sync_group % 2 else {0} + {0}",
    "own number": "tf.constant(tf.distribute.get_replica_context().replica_id_in_sync_group)",
    "function": "tf.function(lambda x: x + x)({0})",
    "all_reduce": "tf.distribute.get_replica_context().all_reduce({0}, {1})",
    "all_reduce nest": "tf.nest.flatten(tf.distribute.get_replica_context().all_reduce({0}, {1}))",
    "all_gather": "tf.distribute.get_replica_context().all_gather({0}, axis={1})",
    "merge reduce": "tf.distribute.get_replica_context().merge_call(lambda s, x: s.reduce({0}, x, axis=None), args=({1},))",
    "merge reduce_to": "tf.distribute.get_replica_context().merge_call(lambda s, x: s.extended.reduce_to({0}, x, x), args=({1},))",
    "merge own": "tf.distribute.get_replica_context().merge_call(lambda s, x: x, args=({0},))",
    "merge first": (
        "tf.distribute.get_replica_context().merge_call(lambda s, x: s.experimental_local_results(x)[0], args=({0},))"
    ),
    "merge gather": "tf.distribute.get_replica_context().merge_call(lambda s, x: s.gather(x, axis={1}), args=({0},))",
    "merge update": (
        "tf.distribute.get_replica_context().merge_call(lambda s, x: (s.extended.update({1}, lambda v, d: v.{2}(d), "
        "args=(s.extended.reduce_to({0}, x, {1}),)), x)[1], args=({3},))"
    ),
    "read": "{0}.read_value()",
    "assign": "tf.convert_to_tensor({0}.assign({1}))",
    "assign_add": "tf.convert_to_tensor({0}.assign_add({1}))",
    "assign_sub": "tf.convert_to_tensor({0}.assign_sub({1}))",
    "own write": (
        "tf.convert_to_tensor({0}.assign_add({1})) if tf.distribute.get_replica_context().replica_id_in_sync_group % 2 else {1}"
    ),
    "scatter_add": "tf.convert_to_tensor({0}.scatter_add(tf.IndexedSlices({1}, tf.constant(array({2}, 'int32')))))",
    "read outside": "{0}.read_value()",
    **{f"{verb} outside": f"{{0}}.{verb}({{1}})" for verb in ("assign", "assign_add", "assign_sub")},
    "reduce": "strategy.reduce({0}, {1}, axis={2})",
    "gather": "strategy.gather({0}, axis={1})",
    "local": "strategy.experimental_local_results({0})[{1}]",
    "reduce_to": "strategy.extended.reduce_to({0}, {1}, {1})",
    "batch_reduce_to": "strategy.extended.batch_reduce_to({0}, [({1}, {1}), ({2}, {2})])",
    "update": "strategy.extended.update({0}, lambda v, d: v.{1}(d), args=({2},))",
}
STATEMENTS = {"update", "assign outside", "assign_add outside", "assign_sub outside"}  # of which the result is not used
NAMES_OF_DTYPES = {"cast": 1}
PLAIN = {("merge update", 2), ("update", 1)}  # operands that are written as they are, beside names of values


def rendered(program: Program) -> str:
    """The program as Python text, which needs `tf`, `strategy` and `array`."""
    lines = ["with strategy.scope():"] if program.variables else []
    for index, made in enumerate(program.variables):
        options = f"synchronization=tf.VariableSynchronization.{made.synchronization}, "
        options += f"aggregation=tf.VariableAggregation.{made.aggregation}"
        lines.append(f"    v{index} = tf.Variable(array({made.value!r}, {made.dtype!r}), {options})")
    given = ", ".join(f"x{index}" for index in range(len(program.inputs)))
    body, names = _statements(program.body, len(program.inputs), "x")
    after, made = _statements(program.after, 0, "y")
    lines += [f"def body({given}):", *body, f"    return [{', '.join(names)}]"]
    lines += [f"def after({', '.join(names)}):", *after, f"    return [{', '.join(made)}]"]
    return "\n".join(lines) + "\n"


def printed(program: Program) -> str:
    """The program with its inputs, for people."""
    given = [
        f"# x{index} = {one.dtype}: {' | '.join(map(repr, one.parts))}" + (f", rows of {one.row}" if one.row else "")
        for index, one in enumerate(program.inputs)
    ]
    head = f"# {program.strategy}, {program.replicas} replicas, called {program.calls} times"
    names = ", ".join(f"x{index}" for index in range(len(program.inputs)))
    return "\n".join(
        [head, *given, rendered(program) + f"results = strategy.run(body, args=[{names}])", "after(*results)"]
    )


def _statements(steps: tuple[Step, ...], first: int, letter: str) -> tuple[list[str], list[str]]:
    lines, names, number = [], [f"x{index}" for index in range(first)], first
    for step in steps:
        text = TEMPLATES[step.verb].format(*[_operand(step, i, one) for i, one in enumerate(step.operands)])
        if step.verb in STATEMENTS:
            lines.append(f"    {text}")
            continue
        targets = [f"{letter}{number + turn}" for turn in range(step.results)]
        several = step.verb in ("all_reduce nest", "batch_reduce_to")
        lines.append(f"    {'[' + ', '.join(targets) + ']' if several else targets[0]} = {text}")
        names += targets
        number += step.results
    return lines, names


def _operand(step: Step, place: int, operand: Any) -> str:
    if NAMES_OF_DTYPES.get(step.verb) == place:
        return f"tf.{operand}" if not operand.startswith("complex") else repr(operand)
    if (step.verb, place) in PLAIN:
        return operand
    if is_name(operand):
        return operand
    if isinstance(operand, dict):
        return "{" + ", ".join(f"{key!r}: {_operand(step, -1, operand[key])}" for key in sorted(operand)) + "}"
    if isinstance(operand, tuple) and step.verb == "all_reduce nest":
        return "(" + "".join(f"{_operand(step, -1, one)}, " for one in operand) + ")"
    if isinstance(operand, list) and step.verb == "all_reduce nest":
        return "[" + ", ".join(_operand(step, -1, one) for one in operand) + "]"
    return repr(operand)


def is_name(operand: Any) -> bool:
    """Say whether an operand is the name of a value or of a variable."""
    return isinstance(operand, str) and operand[:1] in tuple("xvy") and operand[1:].isdigit()
