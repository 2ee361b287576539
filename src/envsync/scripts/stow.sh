#!/bin/sh
# Takes files from standard input, one after the other, to where this node's conda and pip look
# for them. None has its final name before its hash is right; a part stays for the next attempt.
#
# $1  mark of the parts that are ours   $2  layout of the package cache   $3  the package cache
# $4  the folder of wheels   $5  `last`: no part is of use after this; else empty
# $6...  for each file: address (`-` for a wheel), name, md5, sha256, size, how much is there
#
# Answers `wrong` and the name for each that is not what it should be; its part is gone then.

# shellcheck disable=SC2034 # for parcel.sh
mark=$1 layout=$2 place=$3 wheels=$4 last=$5
shift 5

fail() { # what, where: a file that cannot be written takes no room
    rm -f "$part"
    echo "$1" >&2
    exit 1
}

# conda takes a folder for a package cache where this file is, and believes it about addresses;
# so it comes first, and what is unpacked under another address goes, as conda does it.
register() { # folder
    touch "$place/urls.txt" || return 1
    registered "$url" "$name" || printf '%s\n' "$url" >>"$place/urls.txt" || return 1
    stem=${name%.conda}
    stem=${stem%.tar.bz2}
    if [ -e "$1/$stem" ]; then
        rm -rf "$1/.$stem.$mark" && mv "$1/$stem" "$1/.$stem.$mark" && rm -rf "$1/.$stem.$mark"
    fi
}

while [ $# -ge 6 ]; do
    url=$1 name=$2 sha256=$4 size=$5 there=$6
    shift 6
    folder=$(folder_of "$url")
    part=$folder/.$name.$mark.part
    file=$folder/$name
    mkdir -p "$folder" || exit 1
    if [ "$there" -lt "$size" ]; then
        if [ "$there" -eq 0 ]; then
            rm -f "$part"
        elif [ "$(size_of "$part")" -ne "$there" ]; then
            # Somebody has changed it since: what comes does not fit.
            head -c $((size - there)) >/dev/null
            rm -f "$part"
            printf 'wrong\t%s\n' "$name"
            continue
        fi
        head -c $((size - there)) >>"$part" || fail "$name could not be written to $folder"
        if [ "$(size_of "$part")" -lt "$size" ]; then
            echo "only part of $name arrived" >&2
            exit 1
        fi
        file=$part
    elif [ "$(size_of "$file")" -ne "$size" ]; then
        file=$part
    fi
    if [ "$(sha256_of "$file")" != "$sha256" ]; then
        rm -f "$part"
        printf 'wrong\t%s\n' "$name"
        continue
    fi
    if [ "$url" != - ]; then
        register "$folder" || fail "$place/urls.txt could not be written"
    fi
    [ "$file" = "$folder/$name" ] || mv -f "$part" "$folder/$name" || exit 1
done
[ -n "$last" ] || exit 0
for old in "$place"/.*."$mark".part; do
    rm -f "$old"
done
exit 0
