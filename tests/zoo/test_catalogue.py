"""Holds that each of 72 real distribution bugs, collected from public trackers, has a test that is named after it."""

import pathlib
import re

BUGS = (
    "mean-loss-times-sum-of-gradients",
    "token-mean-per-replica",
    "regulariser-counted-n-times",
    "gradient-through-the-reduction",
    "reduced-twice",
    "clip-before-reduce",
    "loss-not-averaged-over-pixels",
    "scheduler-steps-n-times",
    "chief-only-collective",
    "branch-skips-sync-layer",
    "early-stop-decided-locally",
    "chief-only-save-of-synced-state",
    "metric-keys-differ-hang",
    "psum-under-cond-on-replica-id",
    "unused-parameter-on-one-replica",
    "no-initial-broadcast",
    "batchnorm-statistics-per-replica",
    "buffer-reassigned-not-updated",
    "parameter-replaced-after-wrapping",
    "keras3-gradients-not-aggregated",
    "component-written-behind-the-strategys-back",
    "fewer-files-than-workers",
    "unsharded-iterable",
    "global-batch-in-per-replica-function",
    "eval-padding-counts-samples-twice",
    "drop-remainder-in-evaluation",
    "own-shuffle-seed-before-sharding",
    "dict-iteration-order",
    "allreduce-meets-broadcast",
    "sum-here-mean-there",
    "tensor-names-differ-per-rank",
    "variable-creation-order-differs",
    "ragged-per-host-shapes",
    "dtype-promoted-on-one-replica",
    "sparse-on-some-dense-on-others",
    "one-replica-behaves-differently-from-many",
    "assign-without-aggregation",
    "variable-created-outside-scope",
    "optimizer-outside-scope",
    "variable-created-in-step",
    "empty-replica-gives-nan",
    "first-element-of-empty-batch",
    "different-number-of-batches",
    "mean-of-unequal-splits",
    "same-order-every-epoch",
    "identical-augmentation-on-all-ranks",
    "layer-drop-decided-per-replica",
    "rng-state-of-rank-0-restored-everywhere",
    "two-strategies-of-different-size",
    "evaluator-listed-in-training-cluster",
    "a-listed-task-never-starts",
    "two-workers-with-one-index",
    "reading-an-on-read-variable-in-a-replica",
    "loss-of-rank-0-is-logged",
    "unreduced-output-declared-replicated",
    "integer-counter-changes-on-restore",
    "optimizer-slots-not-restored",
    "shards-of-other-world-size",
    "worker-lost-mid-run",
    "chief-finishes-first",
    "exception-on-one-replica",
    "oom-skip-batch-on-one-replica",
    "batch-not-divisible-idle-replica",
    "steps-per-epoch-exceeds-data",
    "reduction-order-changes-result",
    "fp16-sum-overflows-before-mean",
    "retrace-on-every-new-length",
    "donated-buffer-used-again",
    "one-slow-replica",
    "metric-summed-over-replicas",
    "side-effects-run-n-times",
    "sync-point-in-traced-condition",
)
SEEN_BY_NOTHING = {
    "loss-not-averaged-over-pixels": "the sum over pixels is wrong by one factor on any number of replicas, and meant by others",
}


def test_every_bug_has_a_test():
    text = "".join(file.read_text() for file in pathlib.Path(__file__).parent.glob("test_*.py"))
    tests = re.findall(r"def (test_\w+)", text)
    missing = [bug for bug in BUGS if not any(bug.replace("-", "_") in name for name in tests)]

    assert sorted(SEEN_BY_NOTHING) == sorted(missing)


def test_at_most_four_are_seen_by_nothing():
    assert 72 == len(set(BUGS))
    assert len(SEEN_BY_NOTHING) <= 4
