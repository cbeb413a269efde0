"""What to use instead of documented names, for whole modules, and for names for which that of their module would mislead."""

_DATASETS = "other methods of tf.data.Dataset, or a Python generator with tf.data.Dataset.from_generator()"
_STRINGS = "Python's own strings, in Dataset.map() or before tensors are made"
_LITE = "jax2tf and TensorFlow, which deploy models"
_GRAPHS = "functions: there are no graphs here"
_SESSIONS = "a Python loop around functions, in place of sessions and their hooks"
_CHECKPOINTS = "tf.train.Checkpoint and tf.train.CheckpointManager"
_SPARSE = "tf.IndexedSlices, or jax.experimental.sparse"
_SPECS = "tf.TensorSpec"
_INITIALIZERS = "tf.keras.initializers, or numpy arrays as initial values"
_SAMPLERS = "negative samples drawn with tf.random.uniform()"
_BOXES = "tf.image.non_max_suppression() in a loop over the images and classes"
_JPEG = "tf.io.encode_jpeg() with a quality, and tf.io.decode_jpeg()"
_CROPPED = "for the size and the corner of a box, and tf.slice()"

FOR_MODULES = {
    "": "what jax.numpy or numpy has under such a name",
    "autodiff": "tf.GradientTape, or jax.jvp",
    "bitwise": "the operators &, |, ^, ~, << and >> on tensors",
    "compat": "Python's own types and functions",
    "compat.v1": "what v2 has under such a name: tf., tf.math., tf.keras. or a function",
    "compat.v1.distribute": "tf.distribute",
    "compat.v1.logging": "tf.get_logger(), which is Python's logging",
    "compat.v1.train": _SESSIONS,
    "config": "refdist.use(), which chooses the devices",
    "config.experimental": "refdist.use(), which chooses the devices",
    "config.optimizer": "tf.function, which XLA compiles",
    "data": _DATASETS,
    "data.experimental": _DATASETS,
    "debugging": "assert, or numpy.testing",
    "distribute": "tf.distribute.Strategy and what it has",
    "distribute.experimental": "tf.distribute, which has what is no longer experimental",
    "errors": "the classes of tf.errors, which have an error_code",
    "image": "Pillow, in Dataset.map()",
    "io": "Python's own libraries, in Dataset.map()",
    "io.gfile": "os, shutil and pathlib",
    "linalg": "what jax.numpy.linalg or numpy.linalg has under such a name",
    "lookup": "a dict of Python",
    "lookup.experimental": "a dict of Python",
    "nest": "optree, or jax.tree",
    "nn": "what jax.nn has under such a name",
    "profiler": "jax.profiler",
    "profiler.experimental": "jax.profiler",
    "random": "what jax.random or numpy.random has under such a name",
    "random.experimental": "what jax.random or numpy.random has under such a name",
    "saved_model": "tf.saved_model.save() and load()",
    "signal": "jax.numpy.fft or jax.scipy.signal",
    "strings": _STRINGS,
    "summary": "tf.summary.scalar(), histogram(), image() or text()",
    "summary.experimental": "tf.summary.scalar(), histogram(), image() or text()",
    "test": "unittest or pytest, with numpy.testing",
    "tpu": "tf.distribute.TPUStrategy",
    "tpu.experimental": "tf.distribute.TPUStrategy",
    "train": _CHECKPOINTS,
    "version": "tf.version.VERSION and refdist.__version__",
}

# Of tf itself, unless there is a dot; several names share a word.
_NAMES = {
    "CriticalSection": "a lock of Python's threading",
    "AggregationMethod RegisterGradient no_gradient grad_pass_through": "tf.custom_gradient",
    "DeviceSpec": "names such as '/job:worker/task:1/device:GPU:0', as text",
    "IndexedSlicesSpec NoneTensorSpec OptionalSpec TypeSpec type_spec_from_value": _SPECS,
    "ragged_fill_empty_rows ragged_fill_empty_rows_grad": "padded_batch() of tf.data, and masks",
    "TensorArraySpec": _SPECS,
    "Operation Graph graph_util import_graph_def guarantee_const inside_function is_symbolic_tensor": _GRAPHS,
    "as_string strings edit_distance": _STRINGS,
    "audio": "Python's wave, or scipy.io.wavfile, in Dataset.map()",
    "autodiff": FOR_MODULES["autodiff"],
    "bitwise": FOR_MODULES["bitwise"],
    "case switch_case": "if, or jax.lax.switch in a tf.function",
    "constant_initializer ones_initializer random_normal_initializer random_uniform_initializer zeros_initializer": _INITIALIZERS,
    "dtensor": "tf.distribute, or jax.sharding",
    "experimental": "what is no longer experimental: tf.keras, jax.numpy, jax.dlpack",
    "feature_column": "tf.keras.layers for preprocessing, or tf.lookup",
    "fingerprint": "hashlib, or tf.lookup.StaticVocabularyTable for buckets",
    "foldl foldr": "functools.reduce, or jax.lax.scan in a tf.function",
    "make_ndarray": "numpy.asarray()",
    "shape_n tuple parallel_stack": "tf.shape or tf.stack on each tensor",
    "lite load_library load_op_library mlir tools": _LITE,
    "make_tensor_proto": "tf.io.serialize_tensor()",
    "nondifferentiable_batch_function": "the function itself, on batches",
    "qint8 qint16 qint32 quint8 quint16 quantization": "integers and a scale, or the library AQT for JAX",
    "queue": "a dataset of tf.data, or Python's queue",
    "raw_ops": "what tf or tf.math has under such a name",
    "register_tensor_conversion_function": "the method __array__ of the class",
    "resource variant": "tf.Variable",
    "security": "numbers that are checked where they are used",
    "sets": "sets of Python, or numpy.intersect1d and the like",
    "sysconfig": "nothing: no library of TensorFlow is there to be linked with",
    "types": "typing.Any for what becomes a tensor, and tf.Tensor",
    "xla": "tf.function(jit_compile=True), or jax.jit",
    "data.DatasetSpec data.IteratorSpec": "the element_spec of a dataset",
    "data.Iterator data.NumpyIterator": "iter(dataset) and dataset.as_numpy_iterator()",
    "data.experimental.make_batched_features_dataset": "tf.data.TFRecordDataset and tf.io.parse_example()",
    "data.experimental.parse_example_dataset": "Dataset.map() with tf.io.parse_example()",
    "data.experimental.snapshot data.experimental.distributed_save": "save() of the dataset",
    "data.experimental.RandomDataset": "tf.data.Dataset.random()",
    "data.experimental.service": "tf.distribute, whose workers read their own shards",
    "data.experimental.get_structure": "the element_spec of a dataset",
    "image.combined_non_max_suppression image.non_max_suppression_padded": _BOXES,
    "image.non_max_suppression_overlaps image.generate_bounding_box_proposals": _BOXES,
    "image.sample_distorted_bounding_box": f"tf.random.uniform() {_CROPPED}",
    "image.stateless_sample_distorted_bounding_box": f"tf.random.stateless_uniform() {_CROPPED}",
    "image.extract_patches": "tf.keras.ops.image.extract_patches()",
    "image.adjust_jpeg_quality image.random_jpeg_quality image.stateless_random_jpeg_quality": _JPEG,
    "image.extract_glimpse": "tf.slice()",
    "image.sobel_edges": "tf.nn.depthwise_conv2d() with the filters of Sobel",
    "image.ssim_multiscale": "tf.image.ssim(), and tf.nn.avg_pool2d() for the smaller scales",
    "io.SparseFeature": "tf.io.VarLenFeature or tf.io.FixedLenSequenceFeature",
    "io.deserialize_many_sparse io.serialize_many_sparse io.serialize_sparse": _SPARSE,
    "io.decode_json_example": "google.protobuf.json_format with tf.train.Example",
    "io.decode_proto io.encode_proto": "google.protobuf, in Dataset.map()",
    "io.decode_compressed": "zlib or gzip, in Dataset.map()",
    "io.match_filenames_once": "tf.io.matching_files()",
    "io.write_graph": _GRAPHS,
    "io.decode_webp io.decode_jxl": "Pillow, in Dataset.map()",
    "train.Coordinator": "Python's threading",
    "train.experimental": "tf.train and tf.saved_model",
    "config.experimental_connect_to_host": "tf.config.experimental_connect_to_cluster()",
    "config.experimental.ClusterDeviceFilters": "nothing: workers of one process see all devices",
    "config.experimental.get_memory_usage config.experimental.reset_memory_stats": "jax.devices()[0].memory_stats()",
    "debugging.assert_same_float_dtype": "tf.debugging.assert_type()",
    "debugging.experimental": 'jax.config.update("jax_debug_nans", True)',
    "distribute.experimental.PreemptionWatcher": "tf.distribute.experimental.PreemptionCheckpointHandler",
    "distribute.experimental.rpc": "refdist.cluster.run_workers(), or xmlrpc of Python",
    "random.all_candidate_sampler random.fixed_unigram_candidate_sampler random.learned_unigram_candidate_sampler": _SAMPLERS,
    "random.log_uniform_candidate_sampler random.uniform_candidate_sampler": _SAMPLERS,
    "nn.all_candidate_sampler nn.fixed_unigram_candidate_sampler nn.learned_unigram_candidate_sampler": _SAMPLERS,
    "nn.nce_loss nn.sampled_softmax_loss nn.compute_accidental_hits": _SAMPLERS,
    "nn.ctc_loss nn.ctc_beam_search_decoder nn.ctc_greedy_decoder nn.ctc_unique_labels": "tf.keras.losses.CTC, or optax.ctc_loss",
    "nn.RNNCellDeviceWrapper nn.RNNCellDropoutWrapper nn.RNNCellResidualWrapper": "tf.keras.layers.RNN",
    "nn.embedding_lookup_sparse nn.safe_embedding_lookup_sparse": "tf.gather() and tf.reduce_sum()",
    "nn.experimental": "tf.random and tf.nn",
    "saved_model.LoadOptions saved_model.SaveOptions saved_model.Asset": "the arguments of tf.saved_model.save() and load()",
    "test.TestCase": "unittest.TestCase, with numpy.testing.assert_allclose",
    "test.compute_gradient": "jax.test_util.check_grads",
    "test.create_local_cluster": "refdist.cluster.run_workers()",
    "tpu.experimental.embedding": "tf.keras.layers.Embedding under tf.distribute.TPUStrategy",
    "compat.v1.app": "absl.app, or the function itself",
    "compat.v1.flags": "argparse, or absl.flags",
    "compat.v1.gfile": "tf.io.gfile",
    "compat.v1.data": "tf.data",
    "compat.v1.summary": "tf.summary",
    "compat.v1.layers": "tf.keras.layers",
    "compat.v1.losses": "tf.keras.losses",
    "compat.v1.metrics": "tf.keras.metrics",
    "compat.v1.variable_scope": "tf.name_scope(), and variables that the program keeps itself",
    "compat.v1.trainable_variables compat.v1.global_variables": "the variables of a tf.Module or a model",
    "compat.v1.train.Saver compat.v1.train.latest_checkpoint": _CHECKPOINTS,
    "compat.v1.train.AdadeltaOptimizer compat.v1.train.FtrlOptimizer": "tf.keras.optimizers.Adadelta and Ftrl",
    "compat.v1.train.SyncReplicasOptimizer": "tf.distribute.Strategy, which adds up the gradients of replicas",
    "compat.v1.train.replica_device_setter": "tf.distribute.ParameterServerStrategy",
}
FOR_NAMES = {name: word for names, word in _NAMES.items() for name in names.split()}


def word_for(module: str, name: str) -> str:
    """What to use instead of a name that a module does not have.

    >>> word_for("io", "decode_webp")
    'Pillow, in Dataset.map()'
    """
    while True:
        found = FOR_NAMES.get(f"{module}.{name}" if module else name) or FOR_MODULES.get(module)
        if found is not None:
            return found
        module = module.rpartition(".")[0]
