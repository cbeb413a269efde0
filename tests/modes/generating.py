"""Random programs: most of their steps can be done, a few cannot."""

import dataclasses
import random as randomness
from typing import Any

from tests.modes.numbers import Raises, Undefined
from tests.modes.oracle import Oracle
from tests.modes.program import DTYPES, Input, Program, Step, Variable

COUNTS = (1, 2, 3, 7)
_SHAPES = ((), (0,), (1,), (2,), (3,), (2, 3), (2, 0), (1, 2))
_SYNCHRONIZATIONS = ("AUTO", "ON_WRITE", "ON_READ")
_AGGREGATIONS = ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA")
_LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}
_LIMITS["int64"] = (-(2**63), 2**63 - 1)
_FLOATS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 1.5, 0.1, -0.3, 7.0)
_SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0)

_IN_REPLICA = (
    *("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", "+", "-", "*"),
    *(
        "neg",
        "abs",
        "square",
        "identity",
        "constant",
        "cast",
        "sum",
        "mean",
        "index",
        "concat",
        "stack",
        "shape",
        "matmul",
    ),
    *("own index", "own step", "own number"),
    *("all_reduce", "all_reduce", "all_reduce nest", "all_gather", "all_gather"),
    *("merge reduce", "merge reduce_to", "merge own", "merge first", "merge gather", "merge update"),
    *("read", "assign", "assign_add", "assign_sub", "assign", "assign_add", "assign_sub", "scatter_add", "own write"),
)
_OUTSIDE = (
    *("reduce", "reduce", "gather", "local", "reduce_to", "batch_reduce_to", "update"),
    *("read outside", "assign outside", "assign_add outside", "assign_sub outside"),
)


def program(random: randomness.Random, strategy: str, replicas: int, per_worker: int | None = None) -> Program:
    """One program for so many replicas; steps that have no one answer are left out."""
    return _Writer(random, strategy, replicas, per_worker).program()


class _Writer:
    def __init__(self, random: randomness.Random, strategy: str, replicas: int, per_worker: int | None) -> None:
        self.random, self.per_worker, self.count = random, per_worker, replicas
        self.dtypes = [random.choice(DTYPES) for _ in range(random.randint(1, 2))]
        if random.random() < 0.5:
            self.dtypes = ["float32"]
        self.shapes = [random.choice(_SHAPES) for _ in range(random.randint(1, 2))]
        self.made = Program(strategy, replicas, (), (), (), ())

    def program(self) -> Program:
        random = self.random
        inputs = tuple(self._input() for _ in range(random.randint(1, 3)))
        variables = tuple(self._variable() for _ in range(random.choice([0, 1, 1, 2])))
        self.made = dataclasses.replace(self.made, inputs=inputs, variables=variables)
        try:
            oracle = Oracle(self.made, per_worker=self.per_worker)
            oracle.begin()
        except Raises:
            return self.made
        ended = self._steps(oracle, "body", _IN_REPLICA, "x", random.randint(1, 6))
        if not ended:
            self._steps(oracle, "after", _OUTSIDE, "y", random.randint(0, 3))
        return self._callable_twice()

    def _callable_twice(self) -> Program:
        """The program, to be called once where a second call has no one answer."""
        oracle = Oracle(self.made, per_worker=self.per_worker)
        try:
            for _ in range(2):
                oracle.call()
        except Undefined:
            return dataclasses.replace(self.made, calls=1)
        except Raises:
            pass
        return self.made

    def _steps(self, oracle: Oracle, part: str, verbs: tuple[str, ...], letter: str, count: int) -> bool:
        """Add steps that have an answer, and say whether the last one raises."""
        before = tuple(oracle.names)
        for _ in range(count):
            for _ in range(8):
                verb = "function" if self.random.random() < 0.003 and letter == "x" else self.random.choice(verbs)
                step = self._step(oracle, verb, before if letter == "y" else tuple(oracle.names))
                if step is None:
                    continue
                longer = dataclasses.replace(self.made, **{part: (*getattr(self.made, part), step)})
                try:
                    oracle.take(step, letter)
                except Undefined:
                    continue
                except Raises:
                    if self.random.random() < 0.8:
                        continue
                    self.made = longer
                    return True
                self.made = longer
                break
        return False

    def _step(self, oracle: Oracle, verb: str, names: tuple[str, ...]) -> Step | None:
        random = self.random
        x = random.choice(names)
        value = oracle.names[x]
        v = f"v{random.randrange(len(self.made.variables))}" if self.made.variables else None
        if verb in ("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!="):
            return self._binary(oracle, verb, x, names, v)
        axis = random.choice([None, 0, 0, -1, 1])
        whole = random.choice([0, 0, 0, -1, 1])
        op = random.choice(["SUM", "MEAN"])
        match verb:
            case "constant":
                dtype = random.choice(self.dtypes)
                return Step(verb, (self._literal(dtype, random.choice(self.shapes)), dtype))
            case "cast":
                return Step(verb, (x, random.choice([one for one in DTYPES if one != "string"])))
            case "sum" | "mean":
                return Step(verb, (x, axis))
            case "index":
                return Step(verb, (x, random.choice([0, 0, 1, -1, 2, 4, -4])))
            case "concat" | "stack":
                y = self._like(oracle, value, names) or x
                return Step(verb, (x, y, whole))
            case "matmul":
                if value.dtype.name not in ("float32", "float64", "int32") or len(value.shape) != 2:
                    return None
                return Step(verb, (x, self._literal(value.dtype.name, (value.shape[-1], 2)), value.dtype.name))
            case "own step":
                return Step(verb, (x, self._number(value.dtype)))
            case "own number":
                return Step(verb, ())
            case "all_reduce" | "merge reduce" | "merge reduce_to" | "reduce_to":
                return Step(verb, (op, x))
            case "all_reduce nest":
                y = random.choice(names)
                nest = random.choice([{"a": x, "b": [y]}, (x, y), [x, {"c": y}], {"b": x, "a": (y, [x])}])
                return Step(verb, (op, nest), str(nest).count("'x"))
            case "all_gather" | "merge gather" | "gather":
                return Step(verb, (x, whole))
            case "reduce":
                return Step(verb, (op, x, axis))
            case "local":
                return Step(verb, (x, random.choice([0, 0, self.count - 1, self.count])))
            case "batch_reduce_to":
                return Step(verb, (op, x, random.choice(names)), 2)
            case (
                "neg" | "abs" | "square" | "identity" | "shape" | "own index" | "function" | "merge own" | "merge first"
            ):
                return Step(verb, (x,))
        if v is None:
            return None
        state = oracle.state(v)
        fit = [name for name in names if _fits(oracle.names[name], state)]
        operand = random.choice(fit) if fit and random.random() < 0.93 else x
        write = random.choice(["assign", "assign_add", "assign_sub"])
        match verb:
            case "read" | "read outside":
                return Step(verb, (v,))
            case "merge update":
                return Step(verb, (op, v, write, operand))
            case "update":
                return Step(verb, (v, write, operand))
            case "scatter_add":
                return self._scatter(oracle, v, names)
        if random.random() < 0.15:
            operand = self._number(state.copies[0].dtype)
        return Step(verb, (v, operand))

    def _scatter(self, oracle: Oracle, v: str, names: tuple[str, ...]) -> Step | None:
        random, old = self.random, oracle.state(v).copies[0]
        fit = [
            name
            for name in names
            if oracle.names[name].dtype == old.dtype
            and {part.shape for part in oracle.names[name].parts} == {oracle.names[name].shape}
            and oracle.names[name].shape[1:] == old.shape[1:]
            and oracle.names[name].shape
        ]
        if not fit or not old.shape:
            return None
        x = random.choice(fit)
        end = len(old) + (random.random() < 0.15)
        indices = [random.randrange(end) if end else 0 for _ in range(oracle.names[x].shape[0])]
        return Step("scatter_add", (v, x, indices))

    def _binary(self, oracle: Oracle, verb: str, x: str, names: tuple[str, ...], v: str | None) -> Step:
        random, value = self.random, oracle.names[x]
        chance = random.random()
        if chance < 0.3:
            other: Any = self._number(value.dtype)
        elif chance < 0.45 and v is not None:
            other = v
        else:
            other = self._like(oracle, value, names) or x
        pair = (x, other) if random.random() < 0.7 else (other, x)
        return Step(verb, pair)

    def _like(self, oracle: Oracle, value: Any, names: tuple[str, ...]) -> str | None:
        """Another value of the same dtype, and mostly of the same shape."""
        fit = [name for name in names if oracle.names[name].dtype == value.dtype]
        if self.random.random() < 0.8:
            fit = [name for name in fit if oracle.names[name].shape == value.shape]
        return self.random.choice(fit) if fit else None

    def _number(self, dtype: Any) -> Any:
        if dtype.kind in "iu":
            return self.random.choice([0, 1, 2, 3, 5] + [-1, -2] * (dtype.kind == "i"))
        if dtype.kind == "b":
            return self.random.choice([True, False])
        return self.random.choice([0.0, 1.0, 2.0, -0.5, 3.0, 2, -1])

    def _literal(self, dtype: str, shape: tuple[int, ...]) -> Any:
        if not shape:
            return self._element(dtype)
        return [self._literal(dtype, shape[1:]) for _ in range(shape[0])]

    def _element(self, dtype: str) -> Any:
        random = self.random
        rare = random.random() < 0.06
        if dtype == "bool":
            return random.random() < 0.5
        if dtype == "string":
            return random.choice(["", "a", "bc", "\x00"])
        if dtype in _LIMITS:
            low, high = _LIMITS[dtype]
            return random.choice((low, high)) if rare else random.randint(max(low, -3), 5)
        if dtype.startswith("complex"):
            return complex(random.choice(_FLOATS), random.choice(_FLOATS))
        if rare:
            return 1e300 if dtype == "float64" and random.random() < 0.3 else random.choice(_SPECIAL)
        return random.choice(_FLOATS)

    def _input(self) -> Input:
        random, dtype, shape = self.random, self.random.choice(self.dtypes), self.random.choice(self.shapes)
        if random.random() < 0.12 and shape:
            sizes = [random.randint(0, 3) for _ in range(self.count)]
            row = tuple(shape[1:])
            return Input(dtype, tuple(self._literal(dtype, (size, *row)) for size in sizes), row)
        parts = tuple(self._literal(dtype, shape) for _ in range(self.count))
        return Input(dtype, (parts[0],) * self.count if random.random() < 0.15 else parts)

    def _variable(self) -> Variable:
        random, dtype = self.random, self.random.choice(self.dtypes)
        aggregation = random.choice(_AGGREGATIONS)
        if dtype in (*_LIMITS, "bool") and aggregation == "MEAN" and random.random() < 0.9:
            aggregation = "SUM"
        value = self._literal(dtype, random.choice(self.shapes))
        return Variable(dtype, value, random.choice(_SYNCHRONIZATIONS), aggregation)


def _fits(value: Any, state: Any) -> bool:
    return value.dtype == state.copies[0].dtype and all(part.shape == state.copies[0].shape for part in value.parts)
