#!/bin/sh
# Build an image; `make docker-build` calls this.
#
#   CONTAINER   the engine's command: docker (default) or podman
#   TARGET      beeline (default) or clef
#   TAG         the image's name (default: the target's)
#   BASE        the base image, best with its digest (default: what the Dockerfile says)
#
# pip inside uses the index that pip here is set up for, and its authority: both go in as build
# secrets, so that no layer holds them.
set -eu
cd "$(dirname "$0")/.."
CONTAINER=${CONTAINER:-docker}
TARGET=${TARGET:-beeline}
TAG=${TAG:-$TARGET}

private=$(mktemp -d)
trap 'rm -rf "$private"' EXIT
trap 'exit 130' INT TERM

# What pip says of its settings (environment first, which wins), as one pip.conf.
pip_settings() {
    for python in .venv/bin/python python3 python; do
        "$python" -m pip config list 2>/dev/null && return
    done
}
echo '[global]' >"$private/pip.conf"
pip_settings | sed 's/\\n/ /g' | awk -F "='" '
    { key = $1; sub(/.*\./, "", key); value = $2; sub(/\047$/, "", value) }
    key ~ /^(index-url|extra-index-url|find-links|no-index|trusted-host|constraint|timeout|default-timeout|retries)$/ && !seen[key]++ {
        print key " = " value }' >>"$private/pip.conf"
ca=${PIP_CERT:-$(pip_settings | sed -n "s/^[^=]*\.cert='\(.*\)'$/\1/p" | head -n 1)}

set -- --secret "id=pip,src=$private/pip.conf"
if [ -n "$ca" ] && [ -f "$ca" ]; then
    cp "$ca" "$private/ca.pem"
    set -- "$@" --secret "id=ca,src=$private/ca.pem"
fi
# Indexes and constraints that lie on this machine's disk: podman can show them to the build.
paths=$(awk '/^((extra-)?index-url|find-links|constraint) = / {
    for (i = 3; i <= NF; i++) if (sub(/^file:\/\//, "", $i) || $i ~ /^\//) {
        # The pages of an index on disk lead to files beside it.
        if ($1 ~ /index-url/) sub(/\/simple\/?$/, "", $i)
        print $i } }' "$private/pip.conf" | sort -u)
for path in $paths; do
    [ -e "$path" ] || continue
    if [ "$CONTAINER" = podman ]; then
        set -- "$@" --volume "$path:$path:ro"
    else
        echo "build: note: $path is not visible inside; an index on the network is needed for what lies there" >&2
    fi
done
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    eval "value=\${$name-}"
    # Predefined arguments: no image holds them.
    [ -z "$value" ] || set -- "$@" --build-arg "$name"
done
[ -z "${BASE-}" ] || set -- "$@" --build-arg "BASE=$BASE"

revision=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
start=$(date +%s)
"$CONTAINER" build --file docker/Dockerfile --target "$TARGET" --tag "$TAG" \
    --build-arg "REVISION=$revision" "$@" .
"$CONTAINER" image inspect -f '{{.Id}} {{.Size}}' "$TAG" |
    awk -v tag="$TAG" -v s=$(($(date +%s) - start)) '
        { sub(/^(sha256:)?/, "sha256:", $1)
          printf "build: %s is %s, %d MB, built in %d s\n", tag, $1, $2 / 1e6, s }'
