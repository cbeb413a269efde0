"""Every public name of refdist is a documented one, or one of our few."""

import importlib
import importlib.resources
import pathlib
import pkgutil
import re
import subprocess
import sys
import tomllib
import types

import pytest

import refdist as tf
from refdist._core.ops.missing_names import REMEDIES

# All of these are names of TensorFlow 2.21, or of the pages.
DOCUMENTED = {
    "": """
        Graph IndexedSlices Module Tensor TensorArray TensorShape TensorSpec Variable VariableAggregation
        VariableSynchronization abs add add_n
        argmax argmin autograph bfloat16 bool case cast clip_by_value compat concat cond config constant
        control_dependencies
        convert_to_tensor cos data device distribute divide equal errors estimator executing_eagerly exp expand_dims
        eye fill float16 float32 float64 floor foldl foldr function gather greater greater_equal group identity int16 int32
        int64 int8 io is_tensor keras less less_equal linspace logical_and logical_not logical_or map_fn math matmul
        maximum minimum multiply name_scope negative nest nn no_op not_equal one_hot ones ones_like pad pow print
        random range rank reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod
        reduce_sum reshape round saved_model scan shape sigmoid sign sin size split sqrt square squeeze stack string
        subtract switch_case tan tanh tile tpu train transpose uint8 unstack variable_creator_scope
        vectorized_map where while_loop zeros zeros_like
    """,
    "autograph": "experimental",
    "autograph.experimental": "Feature do_not_convert set_loop_options",
    "compat": """
        v1
    """,
    "compat.v1": """
        ConfigProto Graph GraphDef Session distribute enable_eager_execution fixed_size_partitioner get_variable
        py_func
    """,
    "compat.v1.distribute": """
        CrossDeviceOps HierarchicalCopyAllReduce InputContext InputIterator InputReplicationMode
        MirroredStrategy NcclAllReduce OneDeviceStrategy ReduceOp ReductionToOneDevice ReplicaContext RunOptions
        Strategy StrategyExtended experimental experimental_set_strategy get_replica_context get_strategy
        has_strategy in_cross_replica_context
    """,
    "compat.v1.distribute.experimental": """
        CentralStorageStrategy MultiWorkerMirroredStrategy ParameterServerStrategy TPUStrategy
    """,
    "config": """
        LogicalDevice LogicalDeviceConfiguration PhysicalDevice experimental experimental_connect_to_cluster
        functions_run_eagerly get_logical_device_configuration list_logical_devices list_physical_devices
        run_functions_eagerly set_logical_device_configuration threading
    """,
    "config.experimental": "set_memory_growth",
    "config.threading": """
        get_inter_op_parallelism_threads get_intra_op_parallelism_threads set_inter_op_parallelism_threads
        set_intra_op_parallelism_threads
    """,
    "data": """
        AUTOTUNE Dataset INFINITE_CARDINALITY Options TFRecordDataset TextLineDataset UNKNOWN_CARDINALITY
        experimental
    """,
    "data.experimental": """
        AutoShardPolicy DistributeOptions INFINITE_CARDINALITY SHARD_HINT UNKNOWN_CARDINALITY
    """,
    "distribute": """
        CrossDeviceOps DistributedDataset DistributedIterator DistributedValues HierarchicalCopyAllReduce
        InputContext InputIterator InputOptions InputReplicationMode MirroredStrategy
        MultiWorkerMirroredStrategy NcclAllReduce OneDeviceStrategy ParameterServerStrategy ReduceOp
        ReductionToOneDevice ReplicaContext RunOptions Strategy StrategyExtended TPUStrategy ValueContext
        cluster_resolver coordinator experimental experimental_set_strategy get_replica_context get_strategy
        has_strategy in_cross_replica_context
    """,
    "distribute.cluster_resolver": """
        ClusterResolver SimpleClusterResolver TFConfigClusterResolver TPUClusterResolver UnionResolver
    """,
    "distribute.coordinator": """
        ClusterCoordinator PerWorkerValue RemoteValue experimental_get_current_worker_index
    """,
    "distribute.experimental": """
        CentralStorageStrategy MultiWorkerMirroredStrategy ParameterServerStrategy TPUStrategy ValueContext
        coordinator partitioners
    """,
    "distribute.experimental.coordinator": """
        ClusterCoordinator PerWorkerValues RemoteValue
    """,
    "distribute.experimental.partitioners": """
        FixedShardsPartitioner MaxSizePartitioner MinSizePartitioner Partitioner
    """,
    "errors": """
        AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError
        FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError
        PermissionDeniedError ResourceExhaustedError UnauthenticatedError UnavailableError
        UnimplementedError UnknownError
    """,
    "io": """
        TFRecordOptions TFRecordWriter
    """,
    "math": """
        abs add add_n argmax argmin ceil cos divide divide_no_nan equal exp floor floordiv floormod greater
        greater_equal is_finite is_inf is_nan less less_equal log log1p logical_and logical_not logical_or
        logical_xor maximum minimum mod multiply negative not_equal pow reduce_all reduce_any reduce_logsumexp
        reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance round rsqrt sigmoid sign
        sin sqrt square subtract tan tanh
    """,
    "nest": """
        assert_same_structure flatten is_nested map_structure pack_sequence_as
    """,
    "nn": """
        compute_average_loss l2_loss log_softmax moments relu scale_regularization_loss sigmoid
        sigmoid_cross_entropy_with_logits softmax softmax_cross_entropy_with_logits
        sparse_softmax_cross_entropy_with_logits tanh
    """,
    "random": """
        set_seed uniform
    """,
    "saved_model": """
        load save
    """,
    "tpu": """
        experimental
    """,
    "tpu.experimental": """
        DeviceAssignment DeviceOrderMode Topology initialize_tpu_system shutdown_tpu_system
    """,
    "train": """
        Checkpoint ClusterSpec
    """,
    "estimator": "RunConfig",
}
OURS = {
    "": "cluster conformance device_name logical_pieces simulator testing use using",
    "cluster": "run_workers",
    "errors": "MeetingError",
    "testing": "stages_of",
}
LOADED_WHEN_ASKED_FOR = {"conformance", "estimator", "keras", "simulator"}


def module(path):
    return importlib.import_module(f"refdist.{path}" if path else "refdist")


@pytest.mark.parametrize("path", sorted({*DOCUMENTED, *OURS}))
def test_a_module_has_documented_names_and_ours_and_no_others(path):
    expected = {*DOCUMENTED.get(path, "").split(), *OURS.get(path, "").split()}
    late = LOADED_WHEN_ASKED_FOR if path == "" else set()

    assert expected - late == {name for name in dir(module(path)) if not name.startswith("_")} - late
    assert all(hasattr(module(path), name) for name in expected)


def test_every_module_outside_of_the_core_is_in_the_tables():
    found = {one.name.removeprefix("refdist.") for one in pkgutil.walk_packages(tf.__path__, "refdist.")}

    assert {*DOCUMENTED, *OURS} - {""} == {name for name in found if not name.startswith("_core")}


@pytest.mark.parametrize("name", ["function", "device", "variables", "context", "lockstep", "strategy", "values"])
def test_no_module_hides_behind_or_beside_a_documented_name(name):
    program = f"import refdist; before = vars(refdist).get({name!r})\n"
    program += f"try: import refdist.{name}\nexcept ImportError: print(before is vars(refdist).get({name!r}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "True\n" == run.stdout


def test_what_is_documented_as_a_function_is_one():
    assert not isinstance(tf.function, types.ModuleType)
    assert not isinstance(tf.device, types.ModuleType)


def test_an_unknown_name_is_told():
    with pytest.raises(AttributeError, match="no attribute 'lockstep'"):
        tf.lockstep  # noqa: B018


@pytest.mark.parametrize(
    ("path", "name", "remedy"),
    [
        ("", "GradientTape", "jax.value_and_grad"),
        ("", "einsum", "jax.numpy.einsum"),
        ("", "no_such_thing", "use what jax.numpy or numpy has"),
        ("math", "erf", "jax.scipy.special.erf"),
        ("math", "bessel_i0", "use what jax.numpy or numpy has"),
        ("nn", "dropout", "tf.keras.layers.Dropout"),
        ("nn", "elu", "use what jax.nn has"),
    ],
)
def test_a_documented_name_that_is_missing_says_what_to_use_instead(path, name, remedy):
    documented = f"tf.{path}.{name}" if path else f"tf.{name}"

    with pytest.raises(AttributeError, match=re.escape(f"refdist has no {documented}; ")) as raised:
        getattr(module(path), name)

    assert remedy in str(raised.value)
    assert not hasattr(module(path), name)


def test_nothing_that_is_there_has_a_remedy():
    names = {name: name.rpartition(".") for name in REMEDIES}

    assert [] == [name for name, (path, _, last) in names.items() if last in dir(module(path))]


def test_the_version_is_that_of_the_package():
    pyproject = tomllib.loads((pathlib.Path(__file__).parent.parent / "pyproject.toml").read_text())

    assert pyproject["project"]["version"] == tf.__version__


def test_the_types_are_shipped():
    assert (importlib.resources.files("refdist") / "py.typed").is_file()
