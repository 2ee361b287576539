#!/bin/sh
# Points an environment's name to a sealed generation, by one rename.
#
# $1  envs dir   $2  environment   $3  generation   $4  where the link pointed when the plan
# was made; empty: there was none; `plain`: an environment that is to be renamed aside
# $5  who does it

envs=$1
name=$2
generation=$3
expected=$4
who=$5
link=$envs/$name
ours=$envs/.envsync/$name
target=.envsync/$name/$generation

remember() { # generation
    printf '%s %s %s\n' "$(date +%s)" "$1" "$who" >>"$ours/history"
}

# An environment that envsync did not make keeps working there: its files name the path of the
# link, which leads to it again when it is made current.
adopt() {
    number=
    while [ -e "$ours/adopted$number" ]; do
        number=.$((${number#.} + 1))
    done
    aside=$ours/adopted$number
    { (fingerprint "$link") && echo adopted; } >"$link/.sealed" &&
        mv -T "$link" "$aside" && remember "${aside##*/}"
}

if [ ! -e "$envs/$target/.sealed" ]; then
    echo "generation $generation is not there, or not whole" >&2
    exit 1
fi
part=$ours/.link.$$
trap 'rm -f "$part"' EXIT
ln -s "$target" "$part" || exit 1
aside=
if [ -e "$link" ] && [ ! -L "$link" ]; then
    if [ "$expected" != plain ]; then
        echo "$link is in the way: envsync did not make it" >&2
        exit 1
    fi
    adopt || exit 1
else
    now=$(readlink "$link")
    if [ "$now" = "$target" ]; then
        exit 0
    elif [ "$now" != "${expected#plain}" ]; then
        echo "$link was changed by somebody else in the meantime: it points to ${now:-nothing}" >&2
        exit 1
    fi
fi
if mv -T "$part" "$link"; then
    remember "$generation"
    exit 0
fi
[ -z "$aside" ] || mv -T "$aside" "$link"
exit 1
