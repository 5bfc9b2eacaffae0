#!/bin/sh
# Make a stand-in for the base image with debootstrap, for a machine that reaches Debian's archive
# but no image registry: Debian bookworm with its own Python 3.11. Needs root and podman.
#
#   sh docker/base.sh NAME      NAME as in --build-arg BASE=NAME; one that exists is kept
#
#   DEBIAN_MIRROR     where Debian's packages come from (default http://deb.debian.org/debian)
set -eu
name=$1
if podman image exists "$name"; then
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
echo "base: $name with debootstrap (one to two minutes)"
start=$(date +%s)
debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$folder/root" \
    "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$folder/log" 2>&1 ||
    { tail -n 5 "$folder/log" >&2; echo "base: debootstrap failed; set DEBIAN_MIRROR to a mirror you reach" >&2; exit 1; }
cd "$folder/root"
rm -rf var/cache/apt/* var/lib/apt/lists/* usr/share/doc/* usr/share/man/* usr/share/locale/* var/log/*.log
ln -sf python3 usr/bin/python
tar -cf - . | podman import - "$name" >/dev/null
echo "base: $name, $(podman image inspect -f '{{.Size}}' "$name" | awk '{printf "%d MB", $1 / 1e6}') in $(($(date +%s) - start)) s"
