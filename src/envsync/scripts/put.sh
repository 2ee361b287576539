#!/bin/sh
# Writes standard input to a file that nobody else may read, whole or not at all.
#
# $1  path   $2  size in bytes

path=$1
size=$2
part=$path.part.$$

trap 'rm -f "$part"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -p "${path%/*}" || exit 1
(umask 077 && cat >"$part") || exit 1
if [ "$(wc -c <"$part")" -ne "$size" ]; then
    echo "only part of $path arrived" >&2
    exit 1
fi
mv -f "$part" "$path"
