"""What the instructions of a function say about what it reads, and into which call that goes."""

import pytest

from refdist._core.staging.code_reads import reads_of

LOG = log = other = None


def elsewhere(fn):
    """What a function reads that does not only go into one call whose result nobody takes."""
    return [str(path) for path, given_to in reads_of(fn.__code__) if given_to is None]


def into(fn, name):
    """What a function reads into such a call alone, with what is called."""
    return {(str(path), str(call)) for path, call in reads_of(fn.__code__) if call is not None and path.name == name}


def test_attributes_and_items_are_read_by_a_path():
    def read(self, x):
        return x * self.settings["rates"][0].first

    assert "self.settings['rates'][0].first" in elsewhere(read)


def test_a_function_inside_reads_the_parameters_of_the_one_around_it():
    def read(self, x):
        return lambda: x * self.rate

    assert "self.rate" in elsewhere(read)


def test_a_function_inside_that_has_a_parameter_of_that_name_reads_another():
    def read(self, x):
        def inside(self):
            return lambda: self.rate

        return inside, self, x

    assert not [path for path in elsewhere(read) if path.endswith(".rate")]


def test_what_is_bound_anew_is_not_read_from_outside():
    def read(self, x):
        self = x
        self.count = self.count + 1
        return self.rate

    assert [] == [path for path in elsewhere(read) if path.startswith("self")]


def test_what_goes_into_a_call_for_nothing_alone_is_told_apart():
    def read(self, x):
        print(f"epoch {self.epoch:3d}", self.names[0], sep="")
        self.log.info("loss %s", self.loss)
        return x

    found = {("self", "print"), ("self.epoch", "print"), ("self.names", "print"), ("self.names[0]", "print")}
    found |= {(path, "self.log.info") for path in ("self", "self.log", "self.log.info", "self.loss")}
    assert found == into(read, "self")
    assert ["x"] == elsewhere(read)


@pytest.mark.parametrize(
    "read",
    [
        lambda self: [print(self.rate)],
        lambda self: (print(self.rate), self)[1],
        lambda self: print(str(self.rate)) or self,
    ],
    ids=["result", "tuple", "call"],
)
def test_what_could_go_on_from_a_call_is_read(read):
    assert "self.rate" in elsewhere(read)


def test_what_an_argument_calls_or_binds_is_read():
    def calls(self):
        print(other(self.rate))

    def binds(self):
        print(rate := self.rate)
        return rate

    assert "self.rate" in elsewhere(calls)
    assert "self.rate" in elsewhere(binds)
