#!/bin/sh
# Says which of the files named on standard input this node lacks. A line there has an address
# (`-` for a wheel), a name, md5, sha256 and a size, with tabs between them.
#
# $1  mark of the parts that are ours   $2  the folder of wheels
# $3  `holds`: say as well which files could be read here by others; else empty
# $4...  the command that prints, as JSON, which package caches there are
#
# Answers with lines of words with tabs between them: `layout`, `place` (the cache that is written
# to; none where all are read-only), `free_kib` there and where the wheels go, for each file that is lacking `lacks`, its name
# and how many bytes of it are there, and for each that is there packed, `holds`, its name and the
# package cache that it is in (its hash is left to whoever gets it).

mark=$1
wheels=$2
holds=$3
shift 3
answer=$("$@" 2>/dev/null </dev/null) || exit 1
caches=$(printf '%s\n' "$answer" |
    sed -n -e '/"pkgs_dirs": *\[/,/\]/p' -e '/"package cache": *\[/,/\]/p' |
    sed -n 's/^[^/]*"\(\/[^"]*\)".*/\1/p')
version=$(printf '%s\n' "$answer" | sed -n 's/.*mamba version": *"\([0-9.]*\).*/\1/p' | head -n 1)
layout=flat
major=${version%%.*}
minor=${version#*.}
minor=${minor%%.*}
if [ "${major:-0}" -gt 2 ] || { [ "${major:-0}" -eq 2 ] && [ "${minor:-0}" -ge 6 ]; }; then
    layout=nested
fi
printf 'layout\t%s\n' "$layout"

can_write() { # folder, or where one can be made
    folder=$1
    if [ -e "$folder/urls.txt" ]; then
        [ -w "$folder/urls.txt" ] && [ -w "$folder" ]
        return
    fi
    while [ ! -e "$folder" ] && [ -n "$folder" ]; do
        folder=${folder%/*}
    done
    [ -d "${folder:-/}" ] && [ -w "${folder:-/}" ]
}

set -f
IFS='
'
place=
for cache in $caches; do
    if can_write "$cache"; then
        place=$cache
        printf 'place\t%s\n' "$place"
        break
    fi
done
unset IFS
say_free "${place:-$wheels}"
say_free "$wheels"

unpacked_somewhere() {
    for cache in $caches; do
        place=$cache
        unpacked "$(folder_of "$url")/$stem" "$url" "$md5" && return
    done
    return 1
}

say_holder() {
    for cache in $caches; do
        place=$cache
        if [ "$(size_of "$(folder_of "$url")/$name")" -eq "$size" ]; then
            printf 'holds\t%s\t%s\n' "$name" "$cache"
            return
        fi
    done
}

keep=$place
IFS='	'
while read -r url name md5 sha256 size; do
    IFS='
'
    stem=${name%.conda}
    stem=${stem%.tar.bz2}
    [ -z "$holds" ] || say_holder
    place=$keep
    if [ "$url" != - ] && unpacked_somewhere; then
        IFS='	'
        continue
    fi
    place=$keep
    folder=$(folder_of "$url")
    there=$(size_of "$folder/.$name.$mark.part")
    if [ "$(size_of "$folder/$name")" -eq "$size" ] &&
        [ "$(sha256_of "$folder/$name")" = "$sha256" ]; then
        there=$size
        if [ "$url" = - ] || { [ ! -e "$folder/$stem" ] && registered "$url" "$name"; }; then
            IFS='	'
            continue
        fi
    fi
    printf 'lacks\t%s\t%s\n' "$name" "$there"
    IFS='	'
done
exit 0
