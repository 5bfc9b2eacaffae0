#!/bin/sh
# Run a command that builds or runs images on a machine without a Docker engine and without a
# registry, as root on Debian or Ubuntu: podman takes the engine's place, and a stand-in made with
# debootstrap that of the base image.
#
#   sh docker/without_engine.sh make docker-build
#   sh docker/without_engine.sh make docker-test
#
# It sets CONTAINER, COMPOSE, BASE and a configuration of podman's for the command, and changes
# nothing of the machine's; images stay in podman's store (podman rmi).
#
#   BASE      a base image that podman can get, instead of the stand-in
set -eu
cd "$(dirname "$0")/.."

missing=
for program in podman podman-compose runc debootstrap netavark aardvark-dns iptables catatonit; do
    # Some of these lie in podman's own folders.
    PATH="$PATH:/usr/sbin:/usr/lib/podman:/usr/libexec/podman" command -v $program >/dev/null || missing="$missing $program"
done
if [ -n "$missing" ]; then
    echo "without_engine: not found:$missing. On Debian or Ubuntu: apt-get install --no-install-recommends" \
        "podman podman-compose runc catatonit netavark aardvark-dns iptables debootstrap" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "without_engine: needs root (debootstrap, and no user namespaces are taken for granted)" >&2
    exit 1
fi

settings=$(mktemp)
trap 'rm -f "$settings"' EXIT
trap 'exit 130' INT TERM
# No systemd, no delegated control groups, limits that may not be raised: what a container or a
# small virtual machine has.
cat >"$settings" <<'END'
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END
export CONTAINERS_CONF="$settings" BUILDAH_ISOLATION=chroot BUILDAH_FORMAT=docker
export CONTAINER=podman COMPOSE=podman-compose
if [ -z "${BASE-}" ]; then
    export BASE=localhost/beeline-base:bookworm
    sh docker/base.sh "$BASE"
fi
"$@"
