#!/bin/sh
# Asks pip, without installing anything, which files it would take for the requirements on
# standard input; its report is JSON.
#
# $1  prefix   $2  text of as_job.sh   $3  folder in which relative paths begin
# $4  netrc   $5  proxy   $6  hosts without it   $7  `override`   $8  index (see lend.sh)

export PYTHONNOUSERSITE=1 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1
trap 'rm -rf "$1.lent"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -p "$1.lent" && lend "$1.lent" "$1.ca.pem" '' "$4" "$5" "$6" "$7" "$8" || exit 1
cd "$3" || exit 1
as_pip "$1" "$2" install --quiet --dry-run --no-deps --ignore-installed \
    --report - --requirement /dev/fd/4 4<&0 </dev/null
