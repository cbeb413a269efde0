"""Every public name of refdist is a documented one, or one of our few."""

import importlib
import importlib.resources
import pkgutil
import subprocess
import sys
import types

import pytest

import refdist as tf

# All of these are names of TensorFlow 2.21, or of the pages.
DOCUMENTED = {
    "": """
        Graph IndexedSlices Module TensorSpec Variable VariableAggregation VariableSynchronization add bfloat16
        bool cast compat concat config constant convert_to_tensor data device distribute errors estimator
        executing_eagerly float16 float32 float64 function identity int16 int32 int64 int8 io keras matmul nest
        ones random range reduce_mean reduce_sum saved_model shape size square stack string tpu train uint8
        variable_creator_scope zeros
    """,
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
        DataLossError NotFoundError OutOfRangeError
    """,
    "io": """
        TFRecordOptions TFRecordWriter
    """,
    "nest": """
        assert_same_structure flatten is_nested map_structure pack_sequence_as
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


def test_the_types_are_shipped():
    assert (importlib.resources.files("refdist") / "py.typed").is_file()
