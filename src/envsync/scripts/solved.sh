#!/bin/sh
# Says what a solver put into a prefix, in parts: conda's records, what each of them depends
# on, how large their archives are, and what pip knows of itself.
#
# $1  prefix   $2  text of as_job.sh

prefix=$1
as_job=$2

echo '@@conda'
records "$prefix" || exit 4
echo '@@depends'
(
    cd "$prefix/conda-meta" || exit 4
    for record in *.json; do
        awk -v file="$record" '
            /^  "depends": \[/ { inside = 1; next }
            inside && /^  \]/ { exit }
            inside { print file ":" $0 }
        ' "$record"
    done
)
echo '@@sizes'
grep -H -E '^ {2,4}"size": *[0-9]+' -- "$prefix"/conda-meta/*.json
echo '@@pip'
if [ -x "$prefix/bin/python" ]; then
    (cd / && as_pip "$prefix" "$as_job" inspect --local </dev/null)
fi
echo "@@end $?"
