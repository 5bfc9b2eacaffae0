#!/bin/sh
# Run something in the image; `make docker-run` calls this.
#
#   sh docker/run.sh domain=countdown model=sparrow trials=20     a run
#   sh docker/run.sh tracking.report                              a module of ours
#
#   CONTAINER   the engine's command: docker (default) or podman
#   TAG         the image (default beeline)
#   RESULTS     the results folder (default ./results): records, traces, archive, spend
#   SECRETS     a folder with one file a key, named as the variable (default ./secrets, if it is there)
#   BEELINE_DATA_MIRROR   a folder with the data sets, where the container cannot download them
#   NETWORK     the container's network (none: an offline model needs no other)
#
# The container runs as whoever calls, so that results belong to them; it may write results, its
# data and its cache, and nothing else.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
CONTAINER=${CONTAINER:-docker}
TAG=${TAG:-beeline}
RESULTS=${RESULTS:-$root/results}
SECRETS=${SECRETS:-$root/secrets}

image=$("$CONTAINER" image inspect -f '{{.Id}}' "$TAG" 2>/dev/null) || {
    echo "docker-run: there is no image $TAG: make docker-build" >&2
    exit 1
}
case $image in sha256:*) ;; *) image=sha256:$image ;; esac
mkdir -p "$RESULTS"
RESULTS=$(cd "$RESULTS" && pwd)

# The same place inside as outside: MLflow keeps artifact paths as absolute ones.
set -- --volume "$RESULTS:$root/results" --workdir "$root" "$TAG" "$@"
if [ -d "$SECRETS" ]; then
    set -- --volume "$(cd "$SECRETS" && pwd):/run/secrets:ro" "$@"
fi
if [ -n "${BEELINE_DATA_MIRROR-}" ]; then
    set -- --volume "$(cd "$BEELINE_DATA_MIRROR" && pwd):/beeline/mirror:ro" --env BEELINE_DATA_MIRROR=/beeline/mirror "$@"
fi
[ -z "${NETWORK-}" ] || set -- --network "$NETWORK" "$@"
# Both or neither: with a terminal alone, Ctrl-C would not reach the run.
if [ -t 0 ] && [ -t 1 ]; then
    set -- --interactive --tty "$@"
fi
exec "$CONTAINER" run --rm --init --read-only --tmpfs /tmp \
    --cap-drop ALL --security-opt no-new-privileges \
    --user "$(id -u):$(id -g)" \
    --volume beeline-data:/beeline/data --volume beeline-cache:/beeline/cache \
    --env "BEELINE_IMAGE=$image" "$@"
