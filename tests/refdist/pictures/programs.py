"""A strategy with variables of every kind, and a step that meets and writes."""

import refdist as tf

WHERE = "programs.py"


def mirrored(count):
    with tf.using("simulator", gpus=count):
        return tf.distribute.MirroredStrategy()


def central(count):
    with tf.using("simulator", gpus=count):
        return tf.distribute.experimental.CentralStorageStrategy()


def parameter_servers(shards=3):
    spec = {"chief": ["a:1"], "worker": ["b:1", "c:1", "d:1"], "ps": ["e:1", "f:1"]}
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(spec), task_type="chief", task_id=0
    )
    partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(shards)
    with tf.using("simulator", cpus=1):
        return tf.distribute.ParameterServerStrategy(resolver, partitioner)


class Trained:
    """A weight, and a total to which each replica adds."""

    def __init__(self, strategy, name="weight"):
        self.strategy = strategy
        with strategy.scope():
            self.weight = tf.Variable(tf.ones([2, 3]), name=name, aggregation=tf.VariableAggregation.MEAN)
            self.total = tf.Variable(
                0.0,
                name="total",
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )

    def step(self, x):
        context = tf.distribute.get_replica_context()
        self.total.assign_add(tf.reduce_sum(x))
        gradient = context.all_reduce("sum", x)
        self.weight.assign_sub(gradient)
        return tf.reduce_sum(gradient)

    def batch(self):
        return self.strategy.experimental_distribute_values_from_function(lambda _: tf.ones([2, 3]))

    def draw(self):
        return self.strategy.draw(self.step, (self.batch(),))
