#!/bin/sh
# Removes generations, never the current one; says how many KiB the file system won.
#
# $1  envs dir   $2  environment   $3...  generations

envs=$1
name=$2
shift 2
ours=$envs/.envsync/$name

free() { df -Pk "$ours" | awk 'NR == 2 { print $4 }'; }

before=$(free)
for generation in "$@"; do
    if [ "$(readlink "$envs/$name")" = ".envsync/$name/$generation" ]; then
        echo "$generation has become current in the meantime: it stays" >&2
        continue
    fi
    case $generation in
    '' | .* | */*) exit 1 ;;
    esac
    # Without its seal a prefix that is half removed is never taken for a whole one.
    rm -f "$ours/$generation/.sealed" "$ours/$generation/.built" &&
        rm -rf "${ours:?}/$generation" || exit 1
    for suffix in $(beside); do
        rm -f "$ours/$generation.$suffix"
    done
    rm -rf "$ours/$generation.files" || exit 1
done
echo $(($(free) - before))
