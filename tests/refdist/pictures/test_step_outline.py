import pytest

import refdist as tf
from tests.lines import line_of
from tests.refdist.pictures.programs import Trained, central, mirrored, parameter_servers

ctx = tf.distribute.get_replica_context


def acts(strategy, step, *args, **options):
    return [(act.sentence, act.line) for act in strategy.draw(step, args, **options).acts]


def sentences(*given, **options):
    return [sentence for sentence, _ in acts(*given, **options)]


def test_a_step_is_told_in_order_with_bytes():
    trained = Trained(mirrored(2))

    assert [
        "gets: float32[2,3], 24 B on each replica",
        "assign_add 'total': float32[], 4 B, each replica its own copy",
        "all_reduce SUM: float32[2,3], 24 B from each replica",
        "assign_sub 'weight': float32[2,3], 24 B from each replica, averaged",
        "returns: float32[], 4 B on each replica",
    ] == sentences(trained.strategy, trained.step, trained.batch())


def test_an_act_has_the_line_of_the_user():
    def step():
        return ctx().all_reduce("sum", tf.ones([2]))  # the meeting

    (_, line), _ = acts(mirrored(2), step)

    assert f"test_step_outline.py:{line_of(__file__, 'the meeting')}" == line


def test_central_storage_writes_its_one_copy():
    trained = Trained(central(2))

    assert "assign_add 'total': float32[], 4 B from each replica, summed" in sentences(
        trained.strategy, trained.step, trained.batch()
    )


def test_shards_are_written_as_one_variable():
    strategy = parameter_servers()
    with strategy.scope():
        table = tf.Variable(tf.ones([7, 4]), name="table")

    def step():
        table.assign(table * 2)

    assert ["assign 'table': 112 B in all"] == sentences(strategy, step)


def test_an_update_of_every_copy_is_one_write():
    trained = Trained(mirrored(3))

    def merge(strategy, value):
        strategy.extended.update(trained.weight, lambda copy, one: copy.assign_add(one), args=(value,))

    def step():
        ctx().merge_call(merge, (tf.ones([2, 3]),))

    assert ["assign_add 'weight': float32[2,3], 24 B"] == sentences(trained.strategy, step)


def test_a_reduction_in_a_merge_call_is_told_instead_of_the_call():
    def merge(strategy, value):
        return strategy.extended.reduce_to("mean", value, value)

    def step():
        ctx().merge_call(merge, (tf.ones([2]),))

    assert ["reduce MEAN: float32[2], 8 B from each replica"] == sentences(mirrored(2), step)
    assert ["merge_call"] == sentences(mirrored(2), lambda: ctx().merge_call(lambda _: None))


def test_gathered_rows_may_differ():
    def step():
        ctx().all_gather(tf.ones([ctx().replica_id_in_sync_group + 1]), axis=0)

    assert ["all_gather axis=0: float32[1], 4 B from replica 0, and others"] == sentences(mirrored(2), step)


def test_what_a_loop_repeats_is_counted():
    def step():
        for _ in range(5):
            ctx().all_reduce("sum", tf.ones([2]))

    assert ["all_reduce SUM: float32[2], 8 B from each replica (5 times)"] == sentences(mirrored(2), step)


def test_one_line_that_writes_many_variables_is_one_act():
    strategy = mirrored(2)
    with strategy.scope():
        many = [tf.Variable(tf.ones([4]), name=f"v{n}", aggregation=tf.VariableAggregation.SUM) for n in range(5)]

    def step():
        for one in many:
            one.assign(tf.ones([4]))

    assert ["assign 'v0', 'v1', 3 more: 80 B in all"] == sentences(strategy, step)


def test_own_copies_are_written_by_those_replicas_that_come_there():
    trained = Trained(mirrored(3))

    def step():
        if ctx().replica_id_in_sync_group:
            trained.total.assign_add(1.0)

    (act,) = trained.strategy.draw(step).acts

    assert {1, 2} == act.replicas


@pytest.mark.parametrize(
    ("aggregation", "how"),
    [
        ("NONE", ", the same on every replica"),
        ("SUM", " from each replica, summed"),
        ("MEAN", " from each replica, averaged"),
        ("ONLY_FIRST_REPLICA", " from replica 0"),
    ],
)
def test_a_write_says_how_what_the_replicas_bring_becomes_one_value(aggregation, how):
    strategy = mirrored(2)
    with strategy.scope():
        variable = tf.Variable(0.0, name="v", aggregation=tf.VariableAggregation[aggregation])

    def step():
        variable.assign(tf.ones([]))

    assert [f"assign 'v': float32[], 4 B{how}"] == sentences(strategy, step)


def test_a_write_outside_of_replicas_goes_to_every_copy():
    trained = Trained(mirrored(2))

    def program():
        trained.weight.assign(tf.zeros([2, 3]))
        trained.total.assign(0.0)

    assert ["assign 'weight': float32[2,3], 24 B", "assign 'total': every copy"] == sentences(
        trained.strategy, program, in_replicas=False
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (lambda: None, []),
        (lambda: 3, ["returns: a number"]),
        (lambda: "text", []),
        (lambda: tf.zeros([0, 3]), ["returns: float32[0,3], 0 B on each replica"]),
        (lambda: tf.constant(b"x"), ["returns: string[], 8 B on each replica"]),
        (
            lambda: {n: tf.ones([n]) for n in range(5)},
            ["returns: float32[0], float32[1], 3 more, 40 B on each replica"],
        ),
    ],
)
def test_what_is_returned_is_told_by_its_tensors(value, told):
    assert told == sentences(mirrored(2), value)


def test_slices_count_by_what_is_moved():
    def step():
        ctx().all_reduce("sum", tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 4]), dense_shape=[8, 3]))

    assert ["all_reduce SUM: float32[2,3], 24 B from each replica"] == sentences(mirrored(2), step)
