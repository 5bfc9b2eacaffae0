#!/bin/sh
# Prove the image: build it, run the same trials inside and outside, compare the records, start the
# stack, see the MLflow page; `make docker-test` calls this. Ten minutes or so on two cores.
#
#   CONTAINER   the engine's command (docker). Without a running engine, podman takes its place
#               (docker/without_engine.sh)
#   PY          a Python with beeline installed, for the run outside (default .venv/bin/python)
#   TRIALS      how many trials (20)
#   BUILT=yes   take the image that is there
set -eu
cd "$(dirname "$0")/.."
if [ -z "${CONTAINER-}" ] || [ "$CONTAINER" = docker ]; then
    if ! docker info >/dev/null 2>&1; then
        echo "docker-test: no engine answers; podman takes its place"
        exec sh docker/without_engine.sh sh docker/test.sh
    fi
fi
CONTAINER=${CONTAINER:-docker}
PY=${PY:-.venv/bin/python}
TRIALS=${TRIALS:-20}
# A project, port and folders of its own: a cluster that somebody uses is left alone.
export CONTAINER TAG=beeline BEELINE_TAG=beeline
export BEELINE_PROJECT=beeline-test BEELINE_MLFLOW_PORT="${BEELINE_MLFLOW_PORT:-5055}"
work=$(mktemp -d)
export BEELINE_RESULTS="$work/cluster" BEELINE_SECRETS="$work/secrets"

finish() {
    status=$?
    trap - EXIT
    if [ -n "${started-}" ]; then
        if [ $status != 0 ]; then
            tail -n 30 "$work/stack.log" >&2
            sh docker/cluster.sh logs --tail=20 || true
        fi
        sh docker/cluster.sh down --volumes >/dev/null 2>&1 || true
        # podman-compose leaves it
        "$CONTAINER" network rm "${BEELINE_PROJECT}_default" >/dev/null 2>&1 || true
    fi
    rm -rf "$work"
    [ $status = 0 ] || echo "docker-test: FAILED" >&2
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n== %s\n' "$*"; }
took() { echo "   $(($(date +%s) - start)) s"; }

if [ "${BUILT-}" != yes ]; then
    say "build"
    sh docker/build.sh >"$work/build.log" 2>&1 || {
        tail -n 20 "$work/build.log" >&2
        exit 1
    }
    tail -n 1 "$work/build.log"
fi

say "the image holds no setting of this machine's pip, no key, no data of others, and does not run as root"
test "$("$CONTAINER" image inspect -f '{{.Config.User}}' beeline)" = 1000:1000
# shellcheck disable=SC2016 # meant for the shell inside
"$CONTAINER" run --rm --network none --entrypoint sh beeline -euc '
    test "$(id -u)" = 1000
    found=$(find / -xdev \( -name pip.conf -o -name "*.pem" -path "/build/*" -o -name .env -o -name sgb-words.txt \
        -o -name "wikispeedia_paths*" -o -name links.tsv \) -not -path "/proc/*" 2>/dev/null || true)
    test -z "$found" || { echo "found: $found"; exit 1; }
    ! touch /opt/code/written 2>/dev/null'
echo "   as it should be"

say "$TRIALS trials inside, without a network"
start=$(date +%s)
RESULTS="$work/inside" NETWORK=none sh docker/run.sh domain=countdown model=sparrow "trials=$TRIALS"
took

say "$TRIALS trials outside"
start=$(date +%s)
BEELINE_CACHE="$work/cache" "$PY" -m beeline domain=countdown model=sparrow "trials=$TRIALS" tracking=none \
    "results=$work/outside"
took

say "the records of both"
"$PY" docker/same_records.py "$work/inside" "$work/outside"
echo "a record of the run inside ends with:"
head -n 1 "$work/inside/1.0.0/sparrow/score/countdown.benchmark.jsonl" | sed 's/.*"started_utc"/   ..."started_utc"/'

say "the stack: MLflow, a Ray head, a Ray worker"
start=$(date +%s)
started=yes
# What compose itself says goes into a log, shown when something fails.
sh docker/cluster.sh up >"$work/said" 2>"$work/stack.log"
tail -n 1 "$work/said"
took
if [ "$CONTAINER" = podman ]; then
    # Without systemd, podman does not run these by itself.
    for name in mlflow ray-head ray-worker; do
        podman healthcheck run "${BEELINE_PROJECT}_${name}_1"
        echo "   $name is healthy"
    done
fi
"$PY" - "$BEELINE_MLFLOW_PORT" <<'END'
import sys, urllib.request
with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/", timeout=10) as page:
    text = page.read().decode()
    title = text.split("<title>")[1].split("</title>")[0]
    print(f"   GET / answers {page.status}, title {title!r}, {len(text)} characters")
END
start=$(date +%s)
sh docker/cluster.sh exec -T ray-head python -c '
import time, ray
ray.init(address="auto", log_to_driver=False)
while len(nodes := [node for node in ray.nodes() if node["Alive"]]) < 2:
    time.sleep(0.5)
@ray.remote(num_cpus=0, scheduling_strategy="SPREAD")
def where():
    import beeline
    time.sleep(0.5)
    return ray.get_runtime_context().get_node_id()
met = set(ray.get([where.remote() for _ in range(20)]))
print(f"   Ray: {len(nodes)} nodes, {ray.cluster_resources()[chr(67) + chr(80) + chr(85)]:.0f} CPUs; 20 tasks that import beeline ran on {len(met)} of them")
assert len(met) == 2' >"$work/said" 2>>"$work/stack.log"
grep '^   Ray:' "$work/said"
took

say "the same trials on the cluster (engine=ray), started on the head, tracked on the server"
start=$(date +%s)
sh docker/cluster.sh exec -T ray-head beeline domain=countdown model=sparrow "trials=$TRIALS" \
    engine=ray engine.address=auto >"$work/said" 2>>"$work/stack.log"
grep -vE "^(\['podman|using podman|podman exec|exit code)" "$work/said" # what podman-compose says
took
"$PY" docker/same_records.py "$BEELINE_RESULTS" "$work/outside"
record=$BEELINE_RESULTS/1.0.0/sparrow/score/countdown.benchmark.jsonl
image=$("$CONTAINER" image inspect -f '{{.Id}}' beeline)
if grep -v "\"image\":\"sha256:${image#sha256:}\",\"lock\":\"sha256:" "$record"; then
    echo "docker-test: these records do not name the image and the lock" >&2
    exit 1
fi
echo "   every record names the image and the lock"
"$PY" - "$BEELINE_MLFLOW_PORT" <<'END'
import json, sys, urllib.request
url = f"http://127.0.0.1:{sys.argv[1]}/api/2.0/mlflow"
def ask(path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)
ids = {e["name"]: e["experiment_id"] for e in ask("/experiments/search", {"max_results": 10})["experiments"]}
runs = ask("/runs/search", {"experiment_ids": [ids["beeline 1.0.0"]]})["runs"]
print(f"   MLflow holds {len(runs)} runs in the experiment 'beeline 1.0.0':", *(r["info"]["run_name"] for r in runs))
END

say "docker-test: ok"
