#!/bin/sh
# Says which of the packages named on standard input lie unpacked in a package cache of this
# node's conda, by the names of their folders.
#
# $1...  the command that prints, as JSON, which caches there are
#
# Every path in its answer is looked into: a cache may go by several keys, by flavour.

answer=$("$@" 2>/dev/null </dev/null) || exit 1
caches=$(printf '%s\n' "$answer" | sed -n 's/^[^/]*"\(\/[^"]*\)",\{0,1\}$/\1/p')
[ -n "$caches" ] || exit 1

set -f
IFS='
'
while read -r name; do
    for cache in $caches; do
        if [ -d "$cache/$name" ]; then
            printf '%s\n' "$name"
            break
        fi
    done
done
exit 0
