"""What to use instead of names, attributes and arguments of Keras 2."""

_WITHOUT_EXPERIMENTAL = "the name without 'experimental'"
_PHASES = "the argument training= of layers and models"
_SESSIONS = "the values themselves: there are no sessions and no graphs"
_READERS = "a tf.data.Dataset, or a keras.utils.PyDataset"
_DTENSOR = "a strategy of tf.distribute"
_MODELS = "a model of layers: tf.keras.Sequential or tf.keras.Model"
_UPDATES = "assign() in call(): variables are updated at once"
_SHAPES = "layer.input.shape or layer.output.shape, once the layer was called"
_SCALING = "scale_loss(loss) before the gradients; apply_gradients() takes the scale back"
_SCHEDULES = "a schedule of tf.keras.optimizers.schedules as learning_rate="

# For each module of tf.keras, unless there is a word for the name.
FOR_MODULES = {
    "": "tf.keras.layers, models, losses, metrics, optimizers, callbacks and utils, or keras.ops for tensors",
    "applications": "another model of tf.keras.applications, such as ResNet50 or EfficientNetB0",
    "activations": "a function of keras.activations or tf.nn",
    "backend": "what keras.ops, tf or tf.math has under such a name",
    "callbacks": "a callback of tf.keras.callbacks, or a subclass of tf.keras.callbacks.Callback",
    "constraints": "a class of tf.keras.constraints",
    "initializers": "a class of tf.keras.initializers",
    "layers": "another layer of tf.keras.layers, or a subclass of tf.keras.layers.Layer",
    "losses": "a class of tf.keras.losses",
    "metrics": "a class of tf.keras.metrics",
    "mixed_precision": "tf.keras.mixed_precision.set_global_policy() and LossScaleOptimizer",
    "models": "tf.keras.models.load_model(), save_model() and clone_model()",
    "optimizers": "an optimizer of tf.keras.optimizers, such as Adam",
    "optimizers.schedules": "a schedule such as CosineDecay or PolynomialDecay, or a subclass of LearningRateSchedule",
    "preprocessing": "tf.keras.utils",
    "preprocessing.image": "tf.keras.utils or tf.image",
    "preprocessing.sequence": "tf.keras.utils.pad_sequences()",
    "preprocessing.text": "a tokenizer of your choice, before the data come into a dataset",
    "regularizers": "a class of tf.keras.regularizers",
    "utils": "tf.keras.utils of Keras 3, or functions of Python and numpy",
    "wrappers": "keras.wrappers.SKLearnClassifier and its like, or the package scikeras",
}

_SHARED = {
    "experimental": f"{_WITHOUT_EXPERIMENTAL}: schedules are in tf.keras.optimizers.schedules, and models are made of layers",
    "callbacks.experimental optimizers.experimental": _WITHOUT_EXPERIMENTAL,
    "layers.experimental": f"{_WITHOUT_EXPERIMENTAL} in tf.keras.layers, which has the layers for preprocessing too",
    "models.experimental": _MODELS,
    "utils.experimental": "strategy.distribute_datasets_from_function() in place of DatasetCreator",
    "mixed_precision.experimental": "tf.keras.mixed_precision.Policy, set_global_policy() and LossScaleOptimizer",
    "premade premade_models": _MODELS,
    "engine saving src api": "the public names of tf.keras, such as tf.keras.models.load_model() and tf.keras.utils",
    "estimator": "model.fit() under a strategy",
    "dtensor": _DTENSOR,
    "feature_column layers.DenseFeatures": "layers for preprocessing, or tf.lookup in a map() of the dataset",
    "losses.mean_squared_error metrics.mean_squared_error": "MSE in the same module, or the class MeanSquaredError",
    "losses.mean_absolute_error metrics.mean_absolute_error": "MAE in the same module, or the class MeanAbsoluteError",
    "losses.mean_absolute_percentage_error metrics.mean_absolute_percentage_error": "MAPE in the same module",
    "losses.mean_squared_logarithmic_error metrics.mean_squared_logarithmic_error": "MSLE in the same module",
    "losses.kl_divergence metrics.kl_divergence": "KLD in the same module",
    "losses.log_cosh losses.cosine_proximity metrics.cosine_proximity": "logcosh or cosine_similarity in tf.keras.losses",
    "metrics.SumOverBatchSize metrics.MeanTensor metrics.MeanRelativeError": "tf.keras.metrics.Mean, or a subclass of Metric",
    "backend.learning_phase backend.set_learning_phase backend.learning_phase_scope": _PHASES,
    "backend.in_train_phase backend.in_test_phase backend.symbolic_learning_phase": _PHASES,
    "backend.get_session backend.set_session backend.manual_variable_initialization backend.track_variable": _SESSIONS,
    "backend.tensorflow_backend backend.reset_uids backend.get_graph": _SESSIONS,
    "backend.placeholder": "tf.keras.Input",
    "backend.function": "a tf.keras.Model of the same inputs and outputs, or a tf.function",
    "backend.is_tensor": "tf.is_tensor()",
    "backend.print_tensor": "tf.print()",
    "layers.CuDNNLSTM layers.CuDNNGRU": "tf.keras.layers.LSTM or GRU",
    "layers.LocallyConnected1D layers.LocallyConnected2D": "a layer of your own, or keras.ops.einsum() of patches",
    "layers.AbstractRNNCell": "tf.keras.layers.Layer with state_size and call(inputs, states)",
    "layers.merge layers.Merge": "tf.keras.layers.Add, Concatenate, Dot, Average, Maximum or Multiply",
    "layers.wrappers": "tf.keras.layers.TimeDistributed or Bidirectional",
    "utils.multi_gpu_model": "tf.distribute.MirroredStrategy: make and compile the model in its scope",
    "utils.SidecarEvaluator utils.sidecar_evaluator": "a loop over tf.train.checkpoints_iterator(), or over new files",
    "utils.HDF5Matrix": "h5py, and a tf.data.Dataset of its arrays",
    "utils.OrderedEnqueuer utils.GeneratorEnqueuer utils.SequenceEnqueuer": _READERS,
    "utils.np_utils": "tf.keras.utils.to_categorical()",
    "utils.generic_utils": "tf.keras.utils, which has Progbar, get_custom_objects() and register_keras_serializable()",
    "initializers.normal initializers.uniform": "tf.keras.initializers.RandomNormal or RandomUniform",
    "constraints.maxnorm constraints.nonneg constraints.unitnorm": "MaxNorm, NonNeg or UnitNorm of tf.keras.constraints",
    "models.model_from_config": "tf.keras.Model.from_config() or tf.keras.models.model_from_json()",
    "models.model_from_yaml": "tf.keras.models.model_from_json()",
    "optimizers.TFOptimizer": "an optimizer of tf.keras.optimizers of the same kind",
    "optimizers.schedules.LinearDecay": "PolynomialDecay with power=1.0",
}
NAMES = {name: word for names, word in _SHARED.items() for name in names.split()}

# Of objects: the class where they are refused, and what they had.
ATTRIBUTES = {
    "metrics.Metric": {
        "reset_states": "reset_state()",
        "updates": _UPDATES,
        "merge_state": "one metric in the scope of a strategy, which adds up what its replicas have seen",
    },
    "optimizers.Optimizer": {
        "lr": "learning_rate",
        "weights": "variables",
        "get_weights": "[v.numpy() for v in optimizer.variables]",
        "set_weights": "optimizer.load_own_variables(), or tf.train.Checkpoint(optimizer=optimizer)",
        "minimize": "tf.GradientTape and apply_gradients()",
        "get_gradients": "tf.GradientTape",
        "get_updates": "tf.GradientTape and apply_gradients()",
        "aggregate_gradients": "apply_gradients(), which adds up the gradients of replicas",
        "_create_all_weights": "build(variables)",
        "get_scaled_loss": _SCALING,
        "get_unscaled_gradients": _SCALING,
    },
    "models.Model": {
        "fit_generator": f"fit(), with the generator or {_READERS}",
        "evaluate_generator": f"evaluate(), with the generator or {_READERS}",
        "predict_generator": f"predict(), with the generator or {_READERS}",
        "predict_classes": "numpy.argmax(model.predict(x), axis=-1), or model.predict(x) > 0.5",
        "predict_proba": "predict()",
        "reset_states": "reset_state() of the layers that are stateful",
        "state_updates": _UPDATES,
        "uses_learning_phase": _PHASES,
        "input_names": "[tensor.name for tensor in model.inputs]",
    },
    "layers.Layer": {
        "add_update": _UPDATES,
        "updates": _UPDATES,
        "get_updates_for": _UPDATES,
        "get_losses_for": "losses",
        "get_input_at": "layer.input",
        "get_output_at": "layer.output",
        "get_input_shape_at": _SHAPES,
        "get_output_shape_at": _SHAPES,
        "input_shape": _SHAPES,
        "output_shape": _SHAPES,
        "inbound_nodes": "layer.input and layer.output",
        "outbound_nodes": "layer.input and layer.output",
    },
}

# Of methods, separated by spaces: their arguments.
_READING = dict.fromkeys(("workers", "use_multiprocessing", "max_queue_size"), _READERS)
ARGUMENTS = {
    "optimizers.Optimizer.__init__": {
        "lr": "learning_rate=",
        "schedule_decay": _SCHEDULES,
        "jit_compile": "jit_compile= of compile(), or leave it out",
        "use_locking": "nothing in its place: variables are never written by two at a time",
    },
    "layers.Layer.__init__": {
        "batch_input_shape": "batch_shape= of tf.keras.Input",
        "weights": "layer.set_weights() once the layer is built, or an initializer",
        "fused": "nothing in its place: XLA fuses what it can",
        "virtual_batch_size": "smaller batches",
        "time_major": "keras.ops.swapaxes(x, 0, 1) before and after the layer",
        "init": "kernel_initializer=",
        "border_mode": "padding=",
        "output_dim": "units=",
        "subsample": "strides=",
    },
    "models.Model.fit models.Model.evaluate models.Model.predict": {
        **_READING,
        "nb_epoch": "epochs=",
        "samples_per_epoch": "steps_per_epoch=",
    },
    "trainers.trainer.Trainer.compile": {
        "experimental_run_tf_function": "run_eagerly=, or leave it out",
        "experimental_steps_per_execution": "steps_per_execution=",
        "distribute": "the scope of a strategy of tf.distribute, in which the model is made",
        "sample_weight_mode": "sample weights of the shape of the targets",
        "target_tensors": "targets in the dataset",
    },
    "models.Model.save_weights": {"save_format": "a path that ends in .weights.h5", "options": "no options"},
    "callbacks.ModelCheckpoint.__init__": {"period": "save_freq=, in batches", "options": "no options"},
    "callbacks.TensorBoard.__init__": {
        "write_grads": "tf.summary.histogram() of the gradients in train_step()",
        "batch_size": "the batch size of the dataset",
    },
    "regularizers.L1.__init__": {"l": "l1="},
    "regularizers.L2.__init__": {"l": "l2="},
}
