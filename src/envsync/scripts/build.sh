#!/bin/sh
# Builds one generation at its final prefix, or finds it there. Standard error is what the
# package manager says; standard output gets one word: `sealed` or `built`.
#
# $1  prefix   $2  text of as_job.sh   $3  where relative paths of pip begin; may be empty
# $4  `offline` where pip is to keep to what its requirements say
# $5  netrc   $6  proxy   $7  hosts without it   $8  `override`   $9  index (see lend.sh)
# $10 mirrors (see recall.sh)   $11...  the command that fills it
#
# Beside the prefix may lie requirements that pip adds (.pip.txt, with hashes; .direct.txt, which
# cannot have one), the addresses that it is to have on record where it was given a file
# (.origin.txt), the environment's variables (.state), certificates (.ca.pem), and what the
# environment file refers to (.files.tar), which is unpacked into .files and stays: an editable
# package is there.

prefix=$1
as_job=$2
folder=$3
offline=$4
netrc=$5
proxy=$6
no_proxy_for=$7
override=$8
index=$9
shift 9
mirrors=$1
shift
lock=${prefix%/*/*}/.building

# One builder at a time: conda's package cache suffers from two, an earlier push may still be at
# work here, and in a shared home another node may be. The lock is a folder with its owner's name in it. An owner that is gone
# from this node, or that ended before it could write its name, is succeeded in place: whoever
# makes the folder named after it is the one heir, so two that wait cannot both take over.
own() {
    echo "$(uname -n) $$ since $(date)" >"$lock/owner.$$" && mv -f "$lock/owner.$$" "$lock/owner"
}

succeed() { # seconds waited so far
    if read -r host pid _ 2>/dev/null <"$lock/owner"; then
        [ "$host" = "$(uname -n)" ] && ! kill -0 "$pid" 2>/dev/null || return 1
    else
        pid=nobody
        [ "$1" -ge 10 ] || return 1
    fi
    mkdir "$lock/after-$pid" 2>/dev/null && own
}

mkdir -p "${prefix%/*}" || exit 1
waited=0
until mkdir "$lock" 2>/dev/null; do
    if [ ! -d "$lock" ]; then
        mkdir "$lock" && break # for its message
        exit 1
    elif succeed "$waited"; then
        break
    elif [ $((waited % 20)) -eq 0 ]; then
        echo "waiting: another build is at work here ($(cat "$lock/owner" 2>/dev/null))" >&2
    fi
    waited=$((waited + 1))
    sleep 1
done
trap 'rm -rf "$lock"' EXIT
trap 'exit 143' HUP INT TERM
own || exit 1
rm -f "$lock/netrc" "$lock/certificates.pem" # of a build that was killed

if [ -e "$prefix/.sealed" ]; then
    echo sealed
    exit 0
elif [ -e "$prefix/.built" ]; then
    # Another push, or one that was cut off, has filled it; whether it is right is yet to be
    # judged, as it would be after our own build.
    echo built
    exit 0
fi
# Half a build cannot be told from a whole one: start anew. The path is always ours.
case $prefix in
*/.envsync/*/*) rm -rf "$prefix" "$prefix.files" ;;
*) exit 1 ;;
esac

# A user site or a stray setting would count as `already satisfied` for pip, and the
# environment would lack the package on just this node.
unset PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
export PYTHONNOUSERSITE=1 PIP_NO_INPUT=1 PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# What conda says of a package that is not whole is acted on here.
export CONDA_SAFETY_CHECKS=warn
if [ -n "$offline" ]; then
    # An index that cannot be reached would be asked again and again.
    unset PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_PROXY
    export PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1
fi
lend "$lock" "$prefix.ca.pem" "${1%/*/*}" "$netrc" "$proxy" "$no_proxy_for" "$override" "$index" ||
    exit 1

give_up() { # exit code
    rm -rf "$prefix" "$prefix.files"
    exit "$1"
}

fill() { # the command that fills it; sets code
    {
        "$@" </dev/null 2>&1
        echo $? >"$lock/code"
    } | tee "$lock/said" >&2
    read -r code <"$lock/code" || code=1
}

again() { # as fill
    rm -rf "$prefix"
    fill "$@"
}

pip_install() {
    as_pip "$prefix" "$as_job" install --no-deps "$@" </dev/null >&2
}

if [ -e "$prefix.files.tar" ]; then
    {
        mkdir "$prefix.files" && tar -xf "$prefix.files.tar" -C "$prefix.files" >&2 &&
            rm -f "$prefix.files.tar"
    } || give_up $?
fi
if [ -n "$folder" ]; then
    cd "$folder" || give_up $?
fi
fill "$@"
if drop_parts "$lock/said" "$prefix.explicit.txt"; then again "$@"; fi
# After an error once more: a package whose info is cut off hides others. What conda merely warns
# of may be so in the package itself, and is then installed as it is.
if drop_halves "$lock/said"; then again "$@"; fi
if [ "$code" -ne 0 ] && drop_halves "$lock/said"; then again "$@"; fi
[ "$code" -eq 0 ] || give_up "$code"
if [ -e "$prefix.pip.txt" ]; then
    pip_install --require-hashes --requirement "$prefix.pip.txt" || give_up $?
fi
if [ -e "$prefix.direct.txt" ]; then
    pip_install --requirement "$prefix.direct.txt" || give_up $?
fi
origins=$prefix.origin.txt
[ -e "$origins" ] || origins=
{ recall_conda "$prefix" "$mirrors" && recall_pip "$prefix" "$origins" "$mirrors"; } || give_up $?
if [ -e "$prefix.state" ]; then
    cp "$prefix.state" "$prefix/conda-meta/state" || give_up $?
fi
: >"$prefix/.built" && echo built
