#!/bin/sh
# Says how an environment came about, in parts: what was asked of conda, which variables it
# sets, the file that it was pushed from, and how pip is set up here. `solved.sh` follows it.
#
# $1  prefix   $2  text of as_job.sh

prefix=$1
as_job=$2

real=$(cd "$prefix" && pwd -P) || exit 4
echo '@@history'
sed -n '/^# [a-z]* specs:/p; /^# cmd:/p' "$real/conda-meta/history" 2>/dev/null
echo '@@state'
cat "$real/conda-meta/state" 2>/dev/null
echo
# Whatever stands in that file must not look like a part of this answer.
echo '@@file'
sed 's/^/ /' "$real.yml" 2>/dev/null
echo
echo '@@config'
if [ -x "$prefix/bin/python" ]; then
    (cd / && as_pip "$prefix" "$as_job" config list </dev/null)
fi
