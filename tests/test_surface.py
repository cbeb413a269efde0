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
        Assert DType Graph IndexedSlices Module RaggedTensor SparseTensor Tensor TensorShape TensorSpec Variable
        VariableAggregation VariableSynchronization abs acos acosh add add_n argmax argmin argsort as_dtype
        as_string asin asinh assert_equal assert_greater assert_less assert_rank atan atan2 atanh bfloat16
        bitwise bool boolean_mask broadcast_to cast clip_by_global_norm clip_by_norm clip_by_value compat
        complex128 complex64 concat config constant constant_initializer control_dependencies convert_to_tensor
        cos cosh cumsum data debugging device distribute divide double dtypes einsum ensure_shape equal errors
        estimator executing_eagerly exp expand_dims eye fill float16 float32 float64 floor foldl foldr function
        gather gather_nd greater greater_equal group half histogram_fixed_width identity image int16 int32 int64
        int8 io is_tensor keras less less_equal linalg linspace logical_and logical_not logical_or map_fn math
        matmul maximum meshgrid minimum multiply name_scope negative nest nn no_op norm not_equal numpy_function
        one_hot ones ones_initializer ones_like pad pow print py_function ragged random
        random_normal_initializer random_uniform_initializer range rank reduce_all reduce_any reduce_logsumexp
        reduce_max reduce_mean reduce_min reduce_prod reduce_sum repeat reshape reverse roll round saved_model
        scan scatter_nd searchsorted sequence_mask shape sigmoid sign sin sinh size slice sort sparse split sqrt
        square squeeze stack strided_slice string strings subtract tan tanh tensor_scatter_nd_add
        tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot
        tile tpu train transpose truncatediv truncatemod uint16 uint32 uint64 uint8 unique unstack
        variable_creator_scope vectorized_map where zeros zeros_initializer zeros_like
    """,
    "bitwise": """
        bitwise_and bitwise_or bitwise_xor
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
    "debugging": """
        Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_less assert_less_equal
        assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive
        assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_shapes assert_type check_numerics
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
    "dtypes": """
        DType as_dtype bfloat16 bool cast complex128 complex64 double float16 float32 float64 half int16 int32
        int64 int8 string uint16 uint32 uint64 uint8
    """,
    "errors": """
        AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError
        FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError
        PermissionDeniedError ResourceExhaustedError UnauthenticatedError UnavailableError
        UnimplementedError UnknownError
    """,
    "image": """
        adjust_brightness adjust_contrast central_crop convert_image_dtype crop_to_bounding_box flip_left_right
        flip_up_down grayscale_to_rgb pad_to_bounding_box per_image_standardization random_brightness
        random_contrast random_crop random_flip_left_right random_flip_up_down resize resize_with_crop_or_pad
        rgb_to_grayscale rot90 stateless_random_flip_left_right transpose
    """,
    "io": """
        TFRecordOptions TFRecordWriter
    """,
    "linalg": """
        band_part cholesky cross det diag diag_part eigh einsum eye global_norm inv l2_normalize matmul
        matrix_transpose matvec norm normalize qr set_diag solve svd tensordot trace
    """,
    "math": """
        abs acos acosh add add_n argmax argmin asin asinh atan atan2 atanh bincount ceil confusion_matrix cos
        cosh count_nonzero cumprod cumsum digamma divide divide_no_nan equal erf erfc erfinv exp expm1 floor
        floordiv floormod greater greater_equal in_top_k is_finite is_inf is_nan l2_normalize less less_equal
        lgamma log log1p log_sigmoid log_softmax logical_and logical_not logical_or logical_xor maximum minimum
        mod multiply multiply_no_nan ndtri negative not_equal polyval pow reciprocal reduce_all reduce_any
        reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std
        reduce_sum reduce_variance rint round rsqrt segment_max segment_mean segment_min segment_prod
        segment_sum sigmoid sign sin sinh softmax softplus softsign sqrt square squared_difference subtract tan
        tanh top_k truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod
        unsorted_segment_sum xdivy xlogy zero_fraction
    """,
    "nest": """
        assert_same_structure flatten is_nested map_structure pack_sequence_as
    """,
    "nn": """
        avg_pool avg_pool1d avg_pool2d batch_normalization bias_add compute_average_loss conv1d conv2d
        conv2d_transpose conv3d crelu depth_to_space depthwise_conv2d dropout elu embedding_lookup gelu in_top_k
        l2_loss l2_normalize leaky_relu local_response_normalization log_softmax lrn max_pool max_pool1d
        max_pool2d moments relu relu6 scale_regularization_loss selu sigmoid sigmoid_cross_entropy_with_logits
        silu softmax softmax_cross_entropy_with_logits softplus softsign space_to_depth
        sparse_softmax_cross_entropy_with_logits swish tanh top_k weighted_cross_entropy_with_logits
        zero_fraction
    """,
    "ragged": """
        constant map_flat_values
    """,
    "random": """
        Algorithm Generator categorical create_rng_state experimental fold_in get_global_generator normal
        set_global_generator set_seed shuffle split stateless_categorical stateless_normal stateless_truncated_normal
        stateless_uniform truncated_normal uniform
    """,
    "random.experimental": """
        Algorithm Generator create_rng_state get_global_generator set_global_generator stateless_fold_in
        stateless_shuffle stateless_split
    """,
    "saved_model": """
        load save
    """,
    "sparse": """
        SparseTensor from_dense reorder sparse_dense_matmul to_dense
    """,
    "strings": """
        as_string join length lower reduce_join regex_full_match regex_replace strip substr to_number upper
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
        ("", "signal", "jax.scipy.signal"),
        ("", "no_such_thing", "use what jax.numpy or numpy has"),
        ("math", "ndtr", "jax.scipy.special.ndtr"),
        ("math", "bessel_i0", "use what jax.numpy or numpy has"),
        ("nn", "ctc_loss", "optax.ctc_loss"),
        ("nn", "isotonic_regression", "use what jax.nn has"),
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
