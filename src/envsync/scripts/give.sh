#!/bin/sh
# Prints files of this node's package caches, one after the other, each from a byte on.
#
# $1  layout of the package cache   $2  the folder of wheels
# $3...  for each file: the package cache, address (`-` for a wheel), name, size, bytes to leave out

# shellcheck disable=SC2034 # for parcel.sh
layout=$1 wheels=$2
shift 2

while [ $# -ge 5 ]; do
    # shellcheck disable=SC2034 # for parcel.sh
    place=$1
    file=$(folder_of "$2")/$3
    if [ "$(size_of "$file")" -ne "$4" ]; then
        echo "$3 is not there any more" >&2
        exit 1
    fi
    tail -c "+$(($5 + 1))" "$file" || exit 1
    shift 5
done
exit 0
