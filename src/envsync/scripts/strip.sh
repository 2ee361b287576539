#!/bin/sh
# Takes the credentials out of the addresses that conda has put on record in a prefix: it keeps
# user and password there, and the prefix may be read by all. So may the files that were sent
# along for pip.
#
# $1  prefix   $2...  files of which every line counts

[ -d "$1/conda-meta" ] || exit 0 # the build failed, and nothing is left
address='s|([a-z][a-z0-9+.-]*://)[^/"[:space:]]*@|\1|g'
token='s|(://[^/"[:space:]]+)/t/[^/"[:space:]]+/|\1/|g'

strip() { # file, which lines
    part=$1.part$$
    sed -E -e "$2$address" -e "$2$token" "$1" >"$part" &&
        { cmp -s "$1" "$part" || cat "$part" >"$1"; }
    done=$?
    rm -f "$part"
    return "$done"
}

for record in "$1"/conda-meta/*.json; do
    [ ! -f "$record" ] || strip "$record" '/^ *"(url|channel|base_url)":/' || exit 1
done
set -- "$1/conda-meta/history" "$@"
for file in "$@"; do
    [ ! -f "$file" ] || strip "$file" '' || exit 1
done
