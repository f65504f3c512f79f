"""The jobs for Kubernetes: the cluster can read them, they ask for no rights, and their scripts make the run that they name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from reports.results import read_results
from reports.verdict import Verdict

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kubernetes"
SUBJECTS = FOLDER.parents[1] / "tests" / "harness" / "subjects"
VERSIONS = ("1.31", kubernetes_validate.latest_version())
DOCUMENTS = [document for path in sorted(FOLDER.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())]
CONFIG, *_ = (document for document in DOCUMENTS if document["kind"] == "ConfigMap")
JUDGE, MERGE = (document for document in DOCUMENTS if document["kind"] == "Job")
CLIENTS = CONFIG["data"]["clients"].splitlines()


def named(document):
    return f"{document['kind']}-{document['metadata']['name']}"


def pod(job):
    return job["spec"]["template"]["spec"]


def environment(job):
    return {entry["name"]: entry.get("value") for entry in pod(job)["containers"][0]["env"]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_the_schema_of_kubernetes_accepts_it(document, version):
    kubernetes_validate.validate(document, version, strict=True)


def test_the_schema_refuses_what_is_no_member_of_a_job():
    wrong = {**JUDGE, "spec": {**JUDGE["spec"], "shards": 4}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


def test_there_is_a_pod_for_each_shard_of_each_client_and_one_to_merge_each_client():
    assert JUDGE["spec"]["completions"] == int(environment(JUDGE)["SHARDS"]) * len(CLIENTS)
    assert MERGE["spec"]["completions"] == len(CLIENTS)
    assert {job["spec"]["completionMode"] for job in (JUDGE, MERGE)} == {"Indexed"}


@pytest.mark.parametrize("job", [JUDGE, MERGE], ids=named)
def test_a_pod_has_no_rights_and_limits_on_what_it_uses(job):
    (container,) = pod(job)["containers"]
    assert pod(job)["securityContext"]["runAsNonRoot"]
    assert not pod(job)["automountServiceAccountToken"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert {"memory", "ephemeral-storage"} <= container["resources"]["limits"].keys()


@pytest.mark.parametrize("job", [JUDGE, MERGE], ids=named)
def test_what_a_pod_mounts_is_there(job):
    (container,) = pod(job)["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod(job)["volumes"]}
    assert Path(container["command"][1]).name in CONFIG["data"]
    claims = {document["metadata"]["name"] for document in DOCUMENTS if document["kind"] == "PersistentVolumeClaim"}
    assert {
        volume["persistentVolumeClaim"]["claimName"] for volume in pod(job)["volumes"] if "persistentVolumeClaim" in volume
    } == claims


@pytest.fixture
def cluster(tmp_path):
    """What the pods of a job do, one after another: their exit codes."""
    configuration = tmp_path / "config"
    configuration.mkdir()
    results = tmp_path / "results"

    def run(job, clients, pods, **settings):
        for name, text in {**CONFIG["data"], "clients": clients}.items():
            (configuration / name).write_text(text)
        own = {**environment(job), **settings, "CONFIG": str(configuration), "RESULTS": str(results), "PROCESSORS": "1"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        script = configuration / Path(pod(job)["containers"][0]["command"][1]).name
        return [
            subprocess.run(
                [shutil.which("sh"), script],
                env={**os.environ, **own, "PATH": path, "JOB_COMPLETION_INDEX": str(index)},
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                check=False,
                timeout=120,
            ).returncode
            for index in range(pods)
        ]

    run.results = results
    return run


FEW = {"SHARDS": "2", "LMCACHE": "0.5.6", "TARGET": "fixtures", "ARGUMENTS": "--only keys.parse.parse --failures 1"}


def test_the_pods_judge_every_client_and_the_merge_tells_which_one_fails(cluster, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SUBJECTS))
    clients = "right reference\nwrong python:broken_clients:AnswersNonsense\n"
    assert cluster(JUDGE, clients, 3, **FEW) == [0, 0, 0]
    assert cluster(MERGE, clients, 2) == [0, 3], "the second pod of the wrong client never ran"
    merged = read_results(cluster.results / "right" / "merged" / "results.jsonl")
    assert merged.header.merged.count == 2
    assert {case.name for case in merged.cases} == {"keys.parse.parse"}
    wrong = read_results(cluster.results / "wrong" / "1" / "results.jsonl")
    assert Verdict.PASS not in {case.verdict for case in wrong.cases}


def test_a_wrong_option_ends_a_pod_with_the_code_that_fails_its_shard_alone(cluster):
    rule = JUDGE["spec"]["podFailurePolicy"]["rules"][0]
    assert cluster(JUDGE, "right reference\n", 1, LMCACHE="9.9.9") == rule["onExitCodes"]["values"]
    assert rule["action"] == "FailIndex"
