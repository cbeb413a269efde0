import importlib

import pytest

from refdist._core.clusters.membership import Membership, found

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "LOCAL_RANK": "0"}
FOUR = "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
STEP = {
    "SLURM_JOB_ID": "1234",
    "SLURM_STEP_NODELIST": "node[07-09],gpu7",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
}
MPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "2"}
MASTER = {name: TORCHRUN[name] for name in ("MASTER_ADDR", "MASTER_PORT")}


@pytest.fixture
def without_jax(monkeypatch):
    def refuse(name):
        raise AssertionError(f"{name} is loaded")

    monkeypatch.setattr(importlib, "import_module", refuse)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"HOME": "/root", "RANK": ""},
        MASTER,  # some images set them, whoever runs
        {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},  # any pod
        {"JOB_COMPLETION_INDEX": "0"},
        {name: STEP[name] for name in ("SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID")},  # a script of sbatch
        {"LOCAL_RANK": "0"},
    ],
)
def test_an_ordinary_program_is_alone_and_nobody_is_asked(without_jax, environ):
    assert found(environ) is None


def test_the_variables_of_torchrun_say_everything(without_jax):
    assert Membership("10.0.0.1:29500", 1, 4, None, FOUR, 0) == found(TORCHRUN)
    assert Membership("10.0.0.1:29500", 1, 4, None, FOUR, 0) == found({**TORCHRUN, **STEP, **MPI, **POD})


def test_a_world_of_one_counts(without_jax):
    assert Membership(None, 0, 1, None, FOUR) == found({"RANK": "0", "WORLD_SIZE": "1"})
    assert Membership("h:1", 0, 1, None, FOUR) == found(
        {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "h", "MASTER_PORT": "1"}
    )


def test_the_port_after_that_of_torchrun_is_used_where_torchrun_listens_at_its_own(without_jax):
    for said, port in (("True", 29501), ("False", 29500)):
        assert f"10.0.0.1:{port}" == found({**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": said}).coordinator


@pytest.mark.parametrize(("host", "address"), [("::1", "[::1]:29500"), ("[::1]", "[::1]:29500"), ("a.b", "a.b:29500")])
def test_addresses_of_the_longer_kind_are_in_brackets(without_jax, host, address):
    assert address == found({**TORCHRUN, "MASTER_ADDR": host}).coordinator


def test_an_address_for_jax_wins(without_jax):
    address = {"JAX_COORDINATOR_ADDRESS": "there:1"}
    alone = {name: TORCHRUN[name] for name in ("RANK", "WORLD_SIZE")}

    assert "there:1" == found({**TORCHRUN, **address}).coordinator == found({**alone, **address}).coordinator
    assert "there:1" == found({**STEP, **address}).coordinator


def lacking(name):
    return {key: value for key, value in TORCHRUN.items() if key != name}


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        (lacking("WORLD_SIZE"), r"RANK is '1', but WORLD_SIZE is not set; expected both.*Set WORLD_SIZE"),
        (lacking("RANK"), r"WORLD_SIZE is '4', but RANK is not set"),
        (lacking("MASTER_ADDR"), r"MASTER_ADDR is not set; expected RANK, WORLD_SIZE"),
        (lacking("MASTER_PORT"), r"MASTER_PORT is not set"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, r"MASTER_ADDR and MASTER_PORT is not set"),
        ({**TORCHRUN, "WORLD_SIZE": "four"}, r"WORLD_SIZE is 'four'; expected a whole number"),
        ({**TORCHRUN, "RANK": "-1"}, r"RANK is '-1'; expected a whole number"),
        ({**TORCHRUN, "RANK": "4"}, r"RANK is 4 and WORLD_SIZE is 4; expected a rank from 0 to 3"),
        ({**TORCHRUN, "WORLD_SIZE": "0"}, r"WORLD_SIZE is 0"),
        ({**TORCHRUN, "MASTER_PORT": "x"}, r"MASTER_PORT is 'x'; expected"),
        ({**TORCHRUN, "MASTER_PORT": "0"}, r"MASTER_PORT is '0'; expected a port"),
        ({**TORCHRUN, "MASTER_PORT": "65536"}, r"expected a port"),
        ({**TORCHRUN, "LOCAL_RANK": "x"}, r"LOCAL_RANK is 'x'; expected"),
        ({"RANK": "0", **STEP}, r"RANK is '0', but WORLD_SIZE is not set"),
        (
            {**STEP, "SLURM_PROCID": "8"},
            r"SLURM_PROCID is 8 and SLURM_STEP_NUM_TASKS is 8; expected a rank from 0 to 7",
        ),
        ({**STEP, "SLURM_STEP_NUM_TASKS": "many"}, r"SLURM_STEP_NUM_TASKS is 'many'; expected a whole number"),
        ({"OMPI_COMM_WORLD_RANK": "0"}, r"OMPI_COMM_WORLD_RANK is '0', but OMPI_COMM_WORLD_SIZE is not set"),
        ({**POD, "WORLD_SIZE": "3"}, r"WORLD_SIZE is '3', but RANK is not set"),
    ],
)
def test_variables_that_are_half_set_or_wrong_are_named(without_jax, environ, named):
    with pytest.raises(ValueError, match=named):
        found(environ)


def test_a_step_of_slurm_is_what_jax_finds():
    # The port of JAX depends on the job: 65536 - 4096 + 1234.
    assert Membership("node07:62674", 5, 8, None, "SLURM", 1) == found(STEP)
    assert "node07:7777" == found({**STEP, "JAX_COORDINATOR_PORT": "7777"}).coordinator


def test_a_shell_in_an_allocation_is_alone(without_jax):
    shell = {**STEP, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}

    assert Membership(None, 0, 1, None, "SLURM") == found(shell)


def test_processes_of_open_mpi_are_what_jax_finds():
    assert Membership("10.96.0.1:62624", 3, 4, None, "Open MPI", 1) == found(MPI)
    assert "Open MPI" == found({**MPI, **STEP}).told_by


@pytest.mark.parametrize(("variables", "name"), [(MPI, "Open MPI"), (STEP, "SLURM")])
def test_a_given_address_needs_no_jax(without_jax, variables, name):
    membership = found({**variables, **MASTER})

    assert ("10.0.0.1:29500", name, 1) == (membership.coordinator, membership.told_by, membership.local_index)


def test_a_world_size_beside_a_scheduler_has_to_agree_with_it(without_jax):
    assert 5 == found({**STEP, **MASTER, "WORLD_SIZE": "8"}).index
    with pytest.raises(ValueError, match=r"WORLD_SIZE is '2', and SLURM has started 8 processes"):
        found({**STEP, **MASTER, "WORLD_SIZE": "2"})


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        (
            {name: MPI[name] for name in MPI if name != "OMPI_MCA_orte_hnp_uri"},
            r"OMPI_COMM_WORLD_RANK=3, OMPI_COMM_WORLD_SIZE=4.*Open MPI 5.*-x MASTER_ADDR",
        ),
        ({name: STEP[name] for name in STEP if name != "SLURM_JOB_ID"}, r"SLURM_PROCID=5.*expected SLURM_JOB_ID"),
        ({**MPI, "OMPI_MCA_orte_hnp_uri": "5.0;x"}, r"could not find out about the others: .*WORLD_SIZE=1 and RANK=0"),
        ({**STEP, "SLURM_NTASKS": "x"}, r"could not find out about the others: .*SLURM_STEP_NUM_TASKS=8"),
    ],
)
def test_processes_that_cannot_find_the_others_say_so(environ, said):
    with pytest.raises(RuntimeError, match=said):
        found(environ)
