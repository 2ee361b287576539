#!/bin/sh
# Points an environment's name to a sealed generation, by one rename.
#
# $1  envs dir   $2  environment   $3  generation   $4  where the link pointed when the plan
# was made; empty: there was none   $5  who does it

envs=$1
name=$2
generation=$3
expected=$4
who=$5
link=$envs/$name
target=.envsync/$name/$generation

if [ ! -e "$envs/$target/.sealed" ]; then
    echo "generation $generation is not there, or not whole" >&2
    exit 1
elif [ -e "$link" ] && [ ! -L "$link" ]; then
    echo "$link is in the way: envsync did not make it" >&2
    exit 1
fi
now=$(readlink "$link")
if [ "$now" = "$target" ]; then
    exit 0
elif [ "$now" != "$expected" ]; then
    echo "$link was changed by somebody else in the meantime: it points to ${now:-nothing}" >&2
    exit 1
fi
part=$envs/.envsync/$name/.link.$$
if ln -s "$target" "$part" && mv -T "$part" "$link"; then
    printf '%s %s %s\n' "$(date +%s)" "$generation" "$who" >>"$envs/.envsync/$name/history"
    exit 0
fi
rm -f "$part"
exit 1
