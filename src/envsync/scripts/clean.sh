#!/bin/sh
# Lets the package manager clean its cache, and says how many KiB the file system won.
#
# $1  a folder of that file system   $2...  the command that cleans

folder=$1
shift

free() { df -Pk "$folder" | awk 'NR == 2 { print $4 }'; }

before=$(free)
"$@" </dev/null >&2 || exit
echo $(($(free) - before))
