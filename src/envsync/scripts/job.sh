#!/bin/sh
# Runs a program with the Python of a prefix, as a job would; its answer, on descriptor 3, is ours.
# The program limits itself: a timeout(1) here would lead a process group of its own, and so not
# end with the connection.
#
# $1  prefix   $2  text of as_job.sh   $3  program for Python   $4...  its arguments

prefix=$1
as_job=$2
program=$3
shift 3

if [ ! -d "$prefix/conda-meta" ]; then
    echo "there is no environment at $prefix" >&2
    exit 4
fi
cd / || exit 4 # a stray torch.py in the home must not be what we import
# Activation scripts are written for the shells that jobs run in, above all bash.
shell=$(command -v bash || echo /bin/sh)
exec "$shell" -c "$as_job" as_job "$prefix" -c "$program" "$@" 3>&1 >&2 </dev/null
