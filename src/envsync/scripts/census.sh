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

# A process is in an environment when it has one of its files mapped, was started from it, or
# has it activated. Mapped files show the generation even for those that came by the link.
candidates=$(
    {
        grep -lsF -e "$ours/" -e "$envs/$name/" /proc/[0-9]*/maps /proc/[0-9]*/cmdline
        grep -lszxF -e "CONDA_PREFIX=$envs/$name" /proc/[0-9]*/environ
        grep -lszF -e "CONDA_PREFIX=$ours/" /proc/[0-9]*/environ
    } | cut -d / -f 3 | sort -un
)
for pid in $candidates; do
    [ -d "/proc/$pid" ] || continue # the searches above found themselves
    cd "/proc/$pid" || continue
    found=$(grep -ahosF -e "$ours/" maps cmdline environ | head -n 1)
    generation=
    if [ -n "$found" ]; then
        generation=$(cat maps cmdline environ 2>/dev/null | tr '\0' '\n' |
            awk -v ours="$ours/" '
                (at = index($0, ours)) {
                    rest = substr($0, at + length(ours)); sub(/[\/ ].*/, "", rest)
                    print rest; exit
                }')
    fi
    printf 'process\t%s\t%s\t%s\t%s\n' "$pid" "$(stat -c %U .)" "$generation" \
        "$(tr '\0\n\t' '   ' <cmdline)"
done
exit 0
