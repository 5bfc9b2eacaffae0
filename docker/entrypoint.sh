#!/bin/sh
# What the image runs:
#
#   domain=countdown trials=20     a run: python -m beeline with these arguments
#   tracking.report --help         a module of ours: python -m
#   mlflow, ray, python, sh ...    that program
#
# A run's records name the lock that the image was installed from (its digest), beside the image
# itself, which only the outside knows: BEELINE_IMAGE, given by docker/run.sh and docker/cluster.sh.
set -eu

BEELINE_LOCK=sha256:$(sha256sum /opt/beeline/lock.txt | cut -d ' ' -f 1)
export BEELINE_LOCK
if [ "${BEELINE_IMAGE-}" = unknown ]; then
    unset BEELINE_IMAGE
fi

case ${1-} in
domains.* | protocols.* | studies.* | tracking.*) exec python -m "$@" ;;
mlflow | ray | python | sh) exec "$@" ;;
esac

# Beside an MLflow server, runs are tracked there, unless the arguments say where. The setting goes
# next to another one: Hydra wants them in one piece, whatever flags are before or after.
if [ -n "${MLFLOW_TRACKING_URI-}" ]; then
    case " $* " in
    *" tracking"* | *" -h "* | *" --help "* | "  ") ;;
    *)
        added=
        for word in "$@"; do
            shift
            case $word in
            -*) ;;
            *=*)
                [ -n "$added" ] || set -- "$@" "tracking.uri=$MLFLOW_TRACKING_URI"
                added=yes
                ;;
            esac
            set -- "$@" "$word"
        done
        [ -n "$added" ] || set -- "$@" "tracking.uri=$MLFLOW_TRACKING_URI"
        ;;
    esac
fi
exec python -m beeline "$@"
