#!/bin/sh
# Says what a prefix holds and what a job in it would see, in three parts:
# the facts of conda's own records, what Python says, and how Python ended.
#
# $1  prefix   $2  text of as_job.sh   $3  seconds for Python   $4  program for Python
# $5...  its arguments

prefix=$1
as_job=$2
limit=$3
program=$4
shift 4

if [ ! -d "$prefix/conda-meta" ]; then
    without=
    [ ! -e "$prefix" ] || without=': it has no conda-meta'
    echo "there is no environment at $prefix$without" >&2
    exit 4
fi
real=$(cd "$prefix" && pwd -P)

echo '@@prefix'
printf '%s\n' "$real"

echo '@@conda'
records "$prefix" || exit 4

echo '@@python'
cd / || exit 4 # a stray torch.py in the home must not be what we import
# Activation scripts are written for the shells that jobs run in, above all bash.
shell=$(command -v bash || echo /bin/sh)
set -- "$shell" -c "$as_job" as_job "$prefix" -c "$program" "$@"
if command -v timeout >/dev/null 2>&1; then
    set -- timeout -k 5 "$limit" "$@"
fi
# timeout(1) leads a process group of its own: whoever ends ours does not reach it.
"$@" 3>&1 >&2 </dev/null &
job=$!
trap 'kill "$job"' HUP INT TERM
wait "$job"
echo "@@end $?"
