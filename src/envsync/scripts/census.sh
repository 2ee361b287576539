#!/bin/sh
# Says which generations of an environment there are, how much disk each adds, and which
# processes run in one. Reads only.
#
# $1  envs dir   $2  environment

envs=$1
name=$2
ours=$envs/.envsync/$name

# One du for all, so that files which generations share as hard links count once.
set --
for prefix in "$ours"/*/; do
    prefix=${prefix%/}
    [ ! -d "$prefix/conda-meta" ] || set -- "$@" "$prefix"
done
if [ $# -gt 0 ]; then
    du -sk "$@" 2>/dev/null | while read -r kib prefix; do
        built=0
        [ ! -e "$prefix/.sealed" ] || built=$(stat -c %Y "$prefix/.sealed")
        printf 'generation\t%s\t%s\t%s\n' "${prefix##*/}" "$built" "$kib"
    done
fi

processes "$envs" "$name"
exit 0
