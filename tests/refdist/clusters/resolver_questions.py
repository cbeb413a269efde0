"""Questions to the resolvers of schedulers, written in documented names, to record what TensorFlow answers.

    python tests/refdist/clusters/resolver_questions.py > tests/fixtures/cluster_resolvers.json   # with TensorFlow

records, for each case: the cluster, the task, addresses, accelerators and CUDA_VISIBLE_DEVICES; or the type of the error.
"""

import json
import os
import types

STEP = {
    "SLURM_PROCID": "3",
    "SLURM_STEP_NUM_TASKS": "5",
    "SLURM_STEP_NODELIST": "t02n13,t02n41,t02n43,t02n44",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2),2,1",
}


def step(rank, nodes, tasks, count):
    names = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE")
    return dict(zip(names, (str(rank), str(count), nodes, tasks), strict=True))


def without(name, **changed):
    return {key: value for key, value in {**STEP, **changed}.items() if key != name}


# The environment, and the arguments.
SLURM = {
    "all_from_the_environment": (STEP, {"gpus_per_node": 2}),
    "the_first_task": ({**STEP, "SLURM_PROCID": "0"}, {"gpus_per_node": 2}),
    "the_last_task": ({**STEP, "SLURM_PROCID": "4"}, {"gpus_per_node": 2}),
    "ranges_of_nodes": (step(4, "node[1-3,5],gpu7", "2(x3),1,1", 8), {"gpus_per_node": 4}),
    "padded_numbers": (step(2, "n[008-011]", "1(x4)", 4), {"gpus_per_node": 1}),
    "a_comma_at_the_end": (step(1, "n1,n2,", "1,1", 2), {"gpus_per_node": 1}),
    "several_jobs": (STEP, {"jobs": {"worker": 3, "ps": 2}, "gpus_per_node": 2}),
    "jobs_by_the_alphabet": ({**STEP, "SLURM_PROCID": "0"}, {"jobs": {"worker": 4, "chief": 1}, "gpus_per_node": 2}),
    "another_port_and_layer": (STEP, {"port_base": 1234, "rpc_layer": "http", "gpus_per_node": 2}),
    "no_layer": (STEP, {"rpc_layer": "", "gpus_per_node": 2}),
    "gpus_for_each_task": (STEP, {"gpus_per_node": 8, "gpus_per_task": 3}),
    "gpus_from_the_environment": ({**STEP, "CUDA_VISIBLE_DEVICES": "0,1,2,3"}, {}),
    "gpus_left_alone": ({**STEP, "CUDA_VISIBLE_DEVICES": "0,1,2,3"}, {"auto_set_gpu": False}),
    "a_number_of_tasks_for_each_node": (step(3, "n[1-2]", "1(x2)", 4), {"tasks_per_node": 2, "gpus_per_node": 2}),
    "tasks_by_node": (
        {"SLURM_PROCID": "2"},
        {"jobs": {"worker": 3}, "tasks_per_node": {"b": 1, "a": 2}, "gpus_per_node": 2},
    ),
    "too_many_gpus": (STEP, {"gpus_per_node": 4, "gpus_per_task": 3}),
    "more_tasks_than_there_are": (STEP, {"jobs": {"worker": 6}, "gpus_per_node": 2}),
    "fewer_tasks_than_there_are": (STEP, {"jobs": {"worker": 4}, "gpus_per_node": 2}),
    "no_rank": (without("SLURM_PROCID"), {"gpus_per_node": 2}),
    "no_count": (without("SLURM_STEP_NUM_TASKS"), {"gpus_per_node": 2}),
    "no_nodes": (without("SLURM_STEP_NODELIST"), {"gpus_per_node": 2}),
    "no_tasks_of_nodes": (without("SLURM_STEP_TASKS_PER_NODE"), {"gpus_per_node": 2}),
    "an_open_bracket": (step(0, "n[1-2", "1(x2)", 2), {"gpus_per_node": 1}),
    "a_name_missing": (step(0, "n1,,n2", "1(x2)", 2), {"gpus_per_node": 1}),
    "a_range_of_three": (step(0, "n[1-2-3]", "1(x2)", 2), {"gpus_per_node": 1}),
    "a_range_of_letters": (step(0, "n[a-b]", "1(x2)", 2), {"gpus_per_node": 1}),
    "a_count_that_is_no_number": (step(0, "n[1-2]", "x2", 2), {"gpus_per_node": 1}),
    "a_count_without_an_end": (step(0, "n[1-2]", "1(x2", 2), {"gpus_per_node": 1}),
}

# The pods that each label selects (name, phase, address of the host), and the arguments.
KUBERNETES = {
    "the_default_label": ({"job-name=tensorflow": [("tf-a", "Running", "10.1.2.3")]}, {}),
    "pods_by_name": ({"job-name=tensorflow": [("b", "Running", "10.1.2.4"), ("a", "Running", "10.1.2.5")]}, {}),
    "several_labels_and_jobs": (
        {
            "job-name=one": [("w-1", "Running", "10.1.2.3"), ("w-0", "Running", "10.1.2.9")],
            "job-name=two": [("a-0", "Running", "10.1.2.4")],
            "job-name=ps": [("ps-0", "Running", "10.1.2.6")],
        },
        {"job_to_label_mapping": {"worker": ["job-name=one", "job-name=two"], "ps": ["job-name=ps"]}},
    ),
    "another_port_and_layer": (
        {"job-name=tensorflow": [("a", "Running", "10.1.2.3")]},
        {"tf_server_port": 8888, "rpc_layer": "test"},
    ),
    "an_empty_mapping": ({"job-name=tensorflow": [("a", "Running", "10.1.2.3")]}, {"job_to_label_mapping": {}}),
    "a_label_of_no_pods": ({}, {"job_to_label_mapping": {"worker": ["job-name=none"]}}),
    "a_pod_that_waits": ({"job-name=tensorflow": [("a", "Running", "10.1.2.3"), ("b", "Pending", None)]}, {}),
}

# The pages of instances, by name and address, and the arguments.
COMPUTE_ENGINE = {
    "one_instance": ([{"one": "10.0.0.1"}], {"port": 8470}),
    "addresses_are_sorted": ([{"a": "10.0.0.3", "b": "10.0.0.1", "c": "10.0.0.20"}], {"port": 8470}),
    "several_pages": ([{"a": "10.0.0.2"}, {"b": "10.0.0.1"}], {"port": 8470}),
    "another_job": (
        [{"a": "10.0.0.1", "b": "10.0.0.2"}],
        {"port": 1, "task_type": "testworker", "task_id": 1, "rpc_layer": "test"},
    ),
    "no_layer": ([{"a": "10.0.0.1"}], {"port": 8470, "rpc_layer": ""}),
}


class Client:
    """Stands for the client of Kubernetes."""

    def __init__(self, pods):
        self._pods = pods

    def list_pod_for_all_namespaces(self, label_selector):
        made = types.SimpleNamespace
        rows = self._pods.get(label_selector, [])
        return made(items=[made(metadata=made(name=n), status=made(phase=p, host_ip=ip)) for n, p, ip in rows])


class Service:
    """Stands for the service of Compute Engine; it notes what it is asked for."""

    def __init__(self, pages):
        self._pages, self._addresses = pages, {name: ip for page in pages for name, ip in page.items()}
        self.asked = []

    def instanceGroups(self):  # noqa: N802
        return self

    instances = instanceGroups

    def listInstances(self, **given):  # noqa: N802
        self.asked.append(given)
        return self._request(0)

    def listInstances_next(self, previous_request, previous_response):  # noqa: N802
        page = previous_request.page + 1
        return self._request(page) if page < len(self._pages) else None

    def get(self, project, zone, instance):
        self.asked.append((project, zone, instance))
        answer = {"networkInterfaces": [{"networkIP": self._addresses[instance]}, {"networkIP": "unused"}]}
        return types.SimpleNamespace(execute=lambda: answer)

    def _request(self, page):
        names = self._pages[page]
        items = {"items": [{"instance": f"https://host/projects/p/zones/z/{name}"} for name in names]} if names else {}
        return types.SimpleNamespace(page=page, execute=lambda: items)


def answers(make, others=()):
    """What a resolver says; or the type of its error."""
    try:
        resolver = make()
        before = [resolver.task_type, resolver.task_id, resolver.master()]
        cluster = resolver.cluster_spec().as_dict()
    except Exception as error:
        return type(error).__name__
    found = {"before": before, "cluster": cluster, "task": [resolver.task_type, resolver.task_id]}
    found |= {"master": resolver.master(), "layer": resolver.rpc_layer, "environment": resolver.environment}
    job, addresses = next(iter(cluster.items()))
    last = len(addresses) - 1
    if addresses:
        found["others"] = [resolver.master(job, last), resolver.master(job, last, "http"), resolver.master(job)]
    return found | {name: getattr(resolver, name)() for name in others}


def slurm(tf, name):
    environment, given = SLURM[name]
    for key in [key for key in os.environ if key.startswith(("SLURM", "CUDA"))]:
        del os.environ[key]
    os.environ.update(environment)
    make = tf.distribute.cluster_resolver.SlurmClusterResolver
    found = answers(lambda: make(**given), ("get_task_info", "num_accelerators"))
    if isinstance(found, dict):
        found["visible"], found["get_task_info"] = os.environ.get("CUDA_VISIBLE_DEVICES"), list(found["get_task_info"])
    return found


def kubernetes(tf, name):
    pods, given = KUBERNETES[name]
    make = tf.distribute.cluster_resolver.KubernetesClusterResolver
    return answers(lambda: make(override_client=Client(pods), **given))


def compute_engine(tf, name):
    pages, given = COMPUTE_ENGINE[name]
    make = tf.distribute.cluster_resolver.GCEClusterResolver
    return answers(lambda: make("p", "z", "group", service=Service(pages), credentials=None, **given))


ASKED = {"slurm": (slurm, SLURM), "kubernetes": (kubernetes, KUBERNETES), "gce": (compute_engine, COMPUTE_ENGINE)}


if __name__ == "__main__":
    import tensorflow

    rows = {f"{kind}:{name}": ask(tensorflow, name) for kind, (ask, cases) in ASKED.items() for name in cases}
    print("{\n" + ",\n".join(f'"{name}": {json.dumps(found)}' for name, found in rows.items()) + "\n}")
