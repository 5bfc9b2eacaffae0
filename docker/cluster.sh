#!/bin/sh
# The stack of docker/compose.yaml: MLflow, a Ray head, a Ray worker.
#
#   sh docker/cluster.sh up             start it and wait until it answers   (make cluster-up)
#   sh docker/cluster.sh run ARGS...    a run of beeline on the head
#   sh docker/cluster.sh alone ARGS...  a run of beeline without Ray, in a container of its own
#   sh docker/cluster.sh down           end it; results and volumes stay     (make cluster-down)
#   sh docker/cluster.sh ARGS...        anything else goes to compose: ps, logs, config
#
#   CONTAINER, COMPOSE   the engine's commands (docker, docker compose)
#   BEELINE_...          what compose.yaml reads: TAG, RESULTS, SECRETS, MLFLOW_PORT, PROJECT
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
CONTAINER=${CONTAINER:-docker}
COMPOSE=${COMPOSE:-$CONTAINER compose}
tag=${BEELINE_TAG:-beeline}
port=${BEELINE_MLFLOW_PORT:-5000}
export BEELINE_TAG="$tag"
export BEELINE_RESULTS="${BEELINE_RESULTS:-$root/results}" BEELINE_SECRETS="${BEELINE_SECRETS:-$root/secrets}"
export BEELINE_USER="${BEELINE_USER:-$(id -u):$(id -g)}"

image=$("$CONTAINER" image inspect -f '{{.Id}}' "$tag" 2>/dev/null) || {
    echo "cluster: there is no image $tag: make docker-build" >&2
    exit 1
}
export BEELINE_IMAGE="sha256:${image#sha256:}"

stack() {
    # shellcheck disable=SC2086 # COMPOSE may be two words
    $COMPOSE -p "${BEELINE_PROJECT:-beeline}" -f "$root/docker/compose.yaml" "$@"
}

# Ray admits only who knows this; made once, readable by its owner alone.
token() {
    mkdir -p "$BEELINE_RESULTS"
    [ -d "$BEELINE_SECRETS" ] || mkdir -m 700 "$BEELINE_SECRETS"
    if [ ! -s "$BEELINE_SECRETS/ray_token" ]; then
        (umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$BEELINE_SECRETS/ray_token")
    fi
}

answers() {
    "$CONTAINER" run --rm --network host --entrypoint python "$tag" -c \
        "import urllib.request as r; r.urlopen('http://127.0.0.1:$port/health', timeout=5)" >/dev/null 2>&1
}

case ${1-} in
up)
    token
    stack up -d mlflow ray-head ray-worker
    for _ in $(seq 60); do
        if answers && stack exec -T ray-worker ray health-check --address ray-head:6379 >/dev/null 2>&1; then
            echo "cluster: MLflow on http://127.0.0.1:$port; a run: sh docker/cluster.sh run domain=countdown trials=20"
            exit
        fi
        sleep 1
    done
    echo "cluster: no answer after a minute or more; sh docker/cluster.sh logs says why" >&2
    exit 1
    ;;
run)
    shift
    stack exec ray-head beeline "$@"
    ;;
alone)
    shift
    stack run --rm runner "$@"
    ;;
down)
    shift
    stack down "$@"
    ;;
*) stack "$@" ;;
esac
