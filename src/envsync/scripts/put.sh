#!/bin/sh
# Writes standard input to files that nobody else may read, each whole or not at all. What is
# there already under the same name beside them, and is not sent now, is of an earlier attempt.
#
# $1  path without suffix   $2...  suffix, size in bytes, suffix, size in bytes, ...

base=$1
shift

trap 'rm -f "$base".*."part$$"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -p "${base%/*}" || exit 1
umask 077
for old in $(beside); do
    rm -f "$base.$old"
done
while [ $# -ge 2 ]; do
    part=$base.$1.part$$
    head -c "$2" >"$part" || exit 1
    if [ "$(wc -c <"$part")" -ne "$2" ]; then
        echo "only part of $base.$1 arrived" >&2
        exit 1
    fi
    mv -f "$part" "$base.$1" || exit 1
    shift 2
done
