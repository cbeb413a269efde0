"""Every public name of refdist is a documented one, or one of our few."""

import importlib
import importlib.resources
import pathlib
import pkgutil
import re
import subprocess
import sys
import types

import pytest

import refdist as tf
from refdist._core.ops.missing_names import REMEDIES

# All of these are names of TensorFlow 2.21, or of the pages.
DOCUMENTED = {
    "": """
        Assert DType GradientTape Graph IndexedSlices Module RaggedTensor RaggedTensorSpec SparseTensor
        SparseTensorSpec Tensor TensorArray
        TensorShape TensorSpec UnconnectedGradients Variable VariableAggregation VariableSynchronization abs acos
        acosh add add_n argmax argmin argsort as_dtype as_string asin asinh assert_equal assert_greater assert_less
        assert_rank atan atan2 atanh autograph bfloat16 bitwise bool boolean_mask broadcast_to case cast
        clip_by_global_norm clip_by_norm clip_by_value compat complex complex128 complex64 concat cond config constant
        constant_initializer control_dependencies convert_to_tensor cos cosh cumsum custom_gradient data debugging
        device distribute divide double dtypes einsum ensure_shape equal errors estimator executing_eagerly exp
        expand_dims eye fill float16 float32 float64 floor foldl foldr function gather gather_nd
        get_current_name_scope get_logger gradients greater greater_equal group half hessians histogram_fixed_width identity
        image init_scope initializers int16 int32 int64 int8 io is_tensor keras less less_equal linalg linspace
        logical_and logical_not logical_or lookup losses map_fn math matmul maximum meshgrid metrics minimum multiply
        name_scope negative nest newaxis nn no_op norm not_equal numpy_function one_hot ones ones_initializer
        ones_like optimizers pad pow print
        profiler py_function ragged random random_normal_initializer random_uniform_initializer range rank
        recompute_grad reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod
        reduce_sum repeat reshape reverse roll round saved_model scan scatter_nd searchsorted sequence_mask shape
        sigmoid sign signal sin sinh size slice sort sparse split sqrt square squeeze stack stop_gradient strided_slice
        string strings subtract summary switch_case tan tanh tensor_scatter_nd_add tensor_scatter_nd_max
        tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot test tile timestamp tpu train
        transpose truncatediv truncatemod uint16 uint32 uint64 uint8 unique unstack variable_creator_scope
        vectorized_map version where while_loop zeros zeros_initializer zeros_like
        broadcast_dynamic_shape broadcast_static_shape dynamic_partition dynamic_stitch get_static_value
        histogram_fixed_width_bins identity_n realdiv reverse_sequence saturate_cast scalar_mul truediv
        unique_with_counts unravel_index
        enable_v2_behavior
    """,  # the last is a name of compat.v2, which is the same module here
    "autograph": """
        experimental
    """,
    "autograph.experimental": """
        Feature do_not_convert set_loop_options
    """,
    "bitwise": """
        bitwise_and bitwise_or bitwise_xor
    """,
    "compat": """
        as_bytes as_str as_text path_to_str v1 v2
    """,
    "compat.v1": """
        ConfigProto Graph GraphDef Session disable_eager_execution disable_v2_behavior distribute
        enable_control_flow_v2 enable_eager_execution enable_resource_variables enable_tensor_equality
        enable_v2_behavior enable_v2_tensorshape executing_eagerly_outside_functions fixed_size_partitioner
        get_variable global_variables_initializer local_variables_initializer logging name_scope placeholder py_func
        set_random_seed tables_initializer train
    """,
    "compat.v1.distribute": """
        CrossDeviceOps HierarchicalCopyAllReduce InputContext InputIterator InputReplicationMode MirroredStrategy
        NcclAllReduce OneDeviceStrategy ReduceOp ReductionToOneDevice ReplicaContext RunOptions Strategy
        StrategyExtended cluster_resolver experimental experimental_set_strategy get_replica_context get_strategy
        has_strategy in_cross_replica_context
    """,
    "compat.v1.distribute.experimental": """
        CentralStorageStrategy CollectiveCommunication CollectiveHints CommunicationImplementation
        CommunicationOptions MultiWorkerMirroredStrategy ParameterServerStrategy TPUStrategy
    """,
    "compat.v1.logging": """
        DEBUG ERROR FATAL INFO WARN debug error fatal flush get_verbosity info log log_every_n log_first_n log_if
        set_verbosity vlog warn warning
    """,
    "compat.v1.train": """
        AdagradOptimizer AdamOptimizer BytesList Checkpoint ClusterSpec Example ExponentialMovingAverage Feature
        FeatureList FeatureLists Features FloatList GradientDescentOptimizer Int64List MomentumOptimizer Optimizer
        RMSPropOptimizer SequenceExample cosine_decay exponential_decay get_global_step get_or_create_global_step
        inverse_time_decay natural_exp_decay piecewise_constant piecewise_constant_decay polynomial_decay
    """,
    "config": """
        LogicalDevice LogicalDeviceConfiguration PhysicalDevice experimental experimental_connect_to_cluster
        experimental_functions_run_eagerly experimental_run_functions_eagerly functions_run_eagerly
        get_logical_device_configuration get_soft_device_placement get_visible_devices list_logical_devices
        list_physical_devices optimizer run_functions_eagerly set_logical_device_configuration
        set_soft_device_placement set_visible_devices threading
    """,
    "config.experimental": """
        VirtualDeviceConfiguration enable_op_determinism enable_tensor_float_32_execution get_device_details
        get_device_policy get_memory_growth get_memory_info get_synchronous_execution
        get_virtual_device_configuration get_visible_devices list_logical_devices list_physical_devices
        set_device_policy set_memory_growth set_synchronous_execution set_virtual_device_configuration
        set_visible_devices tensor_float_32_execution_enabled
    """,
    "config.optimizer": """
        get_experimental_options get_jit set_experimental_options set_jit
    """,
    "config.threading": """
        get_inter_op_parallelism_threads get_intra_op_parallelism_threads set_inter_op_parallelism_threads
        set_intra_op_parallelism_threads
    """,
    "data": """
        AUTOTUNE Dataset FixedLengthRecordDataset INFINITE_CARDINALITY Options TFRecordDataset TextLineDataset
        ThreadingOptions UNKNOWN_CARDINALITY experimental
    """,
    "data.experimental": """
        AUTOTUNE AutoShardPolicy AutotuneOptions Counter CsvDataset DistributeOptions
        INFINITE_CARDINALITY OptimizationOptions Optional SHARD_HINT TFRecordWriter ThreadingOptions
        UNKNOWN_CARDINALITY assert_cardinality bucket_by_sequence_length cardinality
        choose_from_datasets copy_to_device dense_to_ragged_batch dense_to_sparse_batch
        enumerate_dataset from_list get_next_as_optional
        get_single_element group_by_window ignore_errors load make_csv_dataset map_and_batch
        parallel_interleave prefetch_to_device sample_from_datasets save scan shuffle_and_repeat
        take_while unbatch unique
    """,
    "debugging": """
        Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer assert_less
        assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal
        assert_positive assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in assert_scalar
        assert_shapes assert_type check_numerics disable_check_numerics disable_traceback_filtering
        enable_check_numerics enable_traceback_filtering get_log_device_placement is_numeric_tensor
        is_traceback_filtering_enabled set_log_device_placement
    """,
    "distribute": """
        CrossDeviceOps DistributedDataset DistributedIterator DistributedValues HierarchicalCopyAllReduce
        InputContext InputIterator InputOptions InputReplicationMode MirroredStrategy MultiWorkerMirroredStrategy
        NcclAllReduce OneDeviceStrategy ParameterServerStrategy ReduceOp ReductionToOneDevice ReplicaContext
        RunOptions Server Strategy StrategyExtended TPUStrategy ValueContext cluster_resolver coordinator
        experimental experimental_set_strategy get_replica_context get_strategy has_strategy
        in_cross_replica_context
    """,
    "distribute.cluster_resolver": """
        ClusterResolver GCEClusterResolver KubernetesClusterResolver KubernetesExecutableLocation
        SimpleClusterResolver SlurmClusterResolver TFConfigClusterResolver TPUClusterResolver UnionResolver
    """,
    "distribute.coordinator": """
        ClusterCoordinator PerWorkerValue RemoteValue experimental_get_current_worker_index
    """,
    "distribute.experimental": """
        CentralStorageStrategy CollectiveCommunication CollectiveHints CommunicationImplementation
        CommunicationOptions MultiWorkerMirroredStrategy ParameterServerStrategy PreemptionCheckpointHandler TPUStrategy
        TerminationConfig ValueContext coordinator partitioners
    """,
    "distribute.experimental.coordinator": """
        ClusterCoordinator PerWorkerValues RemoteValue
    """,
    "distribute.experimental.partitioners": """
        FixedShardsPartitioner MaxSizePartitioner MinSizePartitioner Partitioner
    """,
    "dtypes": """
        DType as_dtype bfloat16 bool cast complex128 complex64 double float16 float32 float64 half int16 int32 int64
        int8 string uint16 uint32 uint64 uint8
    """,
    "errors": """
        AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError FailedPreconditionError
        InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError PermissionDeniedError
        ResourceExhaustedError UnauthenticatedError UnavailableError UnimplementedError UnknownError
    """,
    "estimator": """
        RunConfig
    """,
    "image": """
        ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation
        central_crop convert_image_dtype crop_and_resize crop_to_bounding_box decode_and_crop_jpeg
        decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png
        extract_jpeg_shape flip_left_right flip_up_down grayscale_to_rgb hsv_to_rgb image_gradients
        is_jpeg non_max_suppression non_max_suppression_with_scores
        pad_to_bounding_box per_image_standardization psnr random_brightness random_contrast
        random_crop random_flip_left_right random_flip_up_down random_hue random_saturation resize
        resize_with_crop_or_pad resize_with_pad rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv
        rot90 ssim stateless_random_brightness stateless_random_contrast stateless_random_crop
        stateless_random_flip_left_right stateless_random_flip_up_down stateless_random_hue
        stateless_random_saturation total_variation transpose yiq_to_rgb yuv_to_rgb
    """,
    "io": """
        FixedLenFeature FixedLenSequenceFeature RaggedFeature TFRecordOptions TFRecordWriter VarLenFeature decode_and_crop_jpeg
        decode_base64 decode_bmp decode_csv decode_gif decode_image decode_jpeg decode_png decode_raw encode_base64
        encode_jpeg encode_png extract_jpeg_shape gfile is_jpeg matching_files parse_example parse_single_example
        parse_sequence_example parse_single_sequence_example parse_tensor read_file serialize_tensor write_file
    """,
    "io.gfile": """
        GFile copy exists get_registered_schemes glob isdir join listdir makedirs mkdir remove rename rmtree stat
        walk
    """,
    "linalg": """
        adjoint band_part cholesky cross det diag diag_part eigh einsum eye global_norm inv l2_normalize matmul
        matrix_transpose matvec norm normalize qr set_diag solve svd tensordot trace
        cholesky_solve eigvalsh expm logdet lstsq matrix_rank pinv slogdet tensor_diag tensor_diag_part triangular_solve
    """,
    "lookup": """
        KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex TextFileInitializer
        experimental
    """,
    "lookup.experimental": """
        DenseHashTable MutableHashTable
    """,
    "math": """
        abs acos acosh add add_n angle argmax argmin asin asinh atan atan2 atanh bincount ceil confusion_matrix
        conj cos cosh count_nonzero cumprod cumsum digamma divide divide_no_nan equal erf erfc erfinv exp expm1
        floor floordiv floormod greater greater_equal imag in_top_k is_finite is_inf is_nan l2_normalize less less_equal lgamma log
        log1p log_sigmoid log_softmax logical_and logical_not logical_or logical_xor maximum minimum mod multiply
        multiply_no_nan ndtri negative not_equal polyval pow real reciprocal reduce_all reduce_any reduce_euclidean_norm
        reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance rint
        round rsqrt segment_max segment_mean segment_min segment_prod segment_sum sigmoid sign sin sinh softmax
        softplus softsign sqrt square squared_difference subtract tan tanh top_k truediv unsorted_segment_max
        unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sum xdivy xlogy
        zero_fraction
        bessel_i0 bessel_i0e bessel_i1 bessel_i1e erfcinv igamma igammac invert_permutation polygamma
        reciprocal_no_nan scalar_mul xlog1py zeta
    """,
    "nest": """
        assert_same_structure flatten is_nested map_structure pack_sequence_as
    """,
    "nn": """
        avg_pool avg_pool1d avg_pool2d batch_normalization bias_add compute_average_loss conv1d conv2d
        conv2d_transpose conv3d crelu depth_to_space depthwise_conv2d dropout elu embedding_lookup gelu in_top_k
        l2_loss l2_normalize leaky_relu local_response_normalization log_softmax lrn max_pool max_pool1d max_pool2d
        moments relu relu6 scale_regularization_loss selu sigmoid sigmoid_cross_entropy_with_logits silu softmax
        softmax_cross_entropy_with_logits softplus softsign space_to_depth sparse_softmax_cross_entropy_with_logits
        swish tanh top_k weighted_cross_entropy_with_logits zero_fraction
    """,
    "profiler": """
        experimental
    """,
    "profiler.experimental": """
        Profile Trace start stop
    """,
    "ragged": """
        boolean_mask constant map_flat_values range row_splits_to_segment_ids segment_ids_to_row_splits stack
    """,
    "random": """
        Algorithm Generator categorical create_rng_state experimental fold_in gamma get_global_generator normal
        poisson set_global_generator set_seed shuffle split stateless_binomial stateless_categorical
        stateless_gamma stateless_normal stateless_poisson stateless_truncated_normal stateless_uniform
        truncated_normal uniform
    """,
    "random.experimental": """
        Algorithm Generator create_rng_state get_global_generator set_global_generator stateless_fold_in
        stateless_shuffle stateless_split
    """,
    "saved_model": """
        DEFAULT_SERVING_SIGNATURE_DEF_KEY LoadOptions SaveOptions contains_saved_model load save
    """,
    "signal": """
        dct fft fft2d fft3d fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d ifftshift
        inverse_stft inverse_stft_window_fn irfft irfft2d irfft3d kaiser_window linear_to_mel_weight_matrix
        mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d rfft3d stft vorbis_window
    """,
    "sparse": """
        SparseTensor concat from_dense reduce_sum reorder sparse_dense_matmul to_dense to_indicator
    """,
    "strings": """
        as_string join length lower reduce_join regex_full_match regex_replace split strip substr
        to_hash_bucket_fast to_number upper
    """,
    "summary": """
        SummaryWriter create_file_writer create_noop_writer experimental flush graph histogram image record_if
        scalar should_record_summaries text trace_export trace_off trace_on write
    """,
    "summary.experimental": """
        get_step set_step summary_scope
    """,
    "test": """
        gpu_device_name is_built_with_cuda is_built_with_gpu_support is_built_with_rocm is_built_with_xla
        TestCase is_gpu_available main
    """,
    "tpu": """
        experimental
    """,
    "tpu.experimental": """
        DeviceAssignment DeviceOrderMode Topology initialize_tpu_system shutdown_tpu_system
    """,
    "train": """
        BytesList Checkpoint CheckpointManager CheckpointOptions ClusterDef ClusterSpec Example
        ExponentialMovingAverage Feature FeatureList FeatureLists Features FloatList Int64List JobDef
        SequenceExample ServerDef checkpoints_iterator get_checkpoint_state latest_checkpoint list_variables
        load_checkpoint load_variable
    """,
    "version": """
        VERSION
    """,
}
OURS = {
    "": "VariableTree cluster conformance device_name launch logical_pieces simulator testing use using",
    "cluster": "run_workers set_limits",
    "errors": "HostEffectWarning MeetingError NumericsError NumericsWarning RandomnessWarning WorkerLost",
    "launch": "main",
    "testing": "Difference LintReport LintWarning Made Met Ran RecordedJournal "
    "ReplicasDiffer Written allow_nonfinite assert_same_on journal lint stages_of",
}
OTHER_NAMES_OF_MODULES = {"compat.v2", "keras"}


def module(path):
    return importlib.import_module(f"refdist.{path}" if path else "refdist")


@pytest.mark.parametrize("path", sorted({*DOCUMENTED, *OURS}))
def test_a_module_has_documented_names_and_ours_and_no_others(path):
    expected = {*DOCUMENTED.get(path, "").split(), *OURS.get(path, "").split()}

    assert expected == {name for name in dir(module(path)) if not name.startswith("_")}
    assert all(hasattr(module(path), name) for name in expected)


@pytest.mark.parametrize("path", sorted({*DOCUMENTED, *OURS} - {"launch"}))
def test_dir_of_a_module_has_nothing_but_public_names(path):
    assert dir(module(path)) == module(path).__all__ == [name for name in dir(module(path)) if name[0] != "_"]


def test_the_simulator_has_its_names_too():
    modules = {path.stem for path in pathlib.Path(tf.simulator.__file__).parent.iterdir()}

    assert {"libraries", "presets"} == modules & set(dir(tf.simulator)), "loading another module would hide the name"
    assert all(hasattr(tf.simulator, name) for name in dir(tf.simulator))
    with pytest.raises(AttributeError, match=r"^module 'simulator' has no attribute 'typo'$"):
        tf.simulator.typo  # noqa: B018


def test_a_star_import_brings_public_names_and_leaves_keras_alone():
    program = "from refdist.math import *\nfrom refdist.data import *\nimport sys\nprint(bincount, Dataset, 'keras' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.startswith("<function bincount")
    assert run.stdout.endswith("refdist._core.input.dataset.Dataset'> False\n")


def test_every_module_outside_of_the_core_is_in_the_tables():
    found = {one.name.removeprefix("refdist.") for one in pkgutil.walk_packages(tf.__path__, "refdist.")}

    assert {*DOCUMENTED, *OURS, *OTHER_NAMES_OF_MODULES} - {""} == {name for name in found if not name.startswith("_")}


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
        ("signal", "mdct", "jax.numpy.fft"),
        ("", "no_such_thing", "use what jax.numpy or numpy has"),
        ("math", "ndtr", "jax.scipy.special.ndtr"),
        ("math", "lbeta", "use what jax.numpy or numpy has"),
        ("nn", "ctc_loss", "optax.ctc_loss"),
        ("nn", "isotonic_regression", "use what jax.nn has"),
        ("io", "decode_webp", "use Pillow"),
        ("data.experimental", "make_batched_features_dataset", "tf.io.parse_example()"),
        ("compat.v1", "flags", "argparse"),
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


def test_the_types_are_shipped():
    assert (importlib.resources.files("refdist") / "py.typed").is_file()
