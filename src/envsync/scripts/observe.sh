#!/bin/sh
# Says what this node has, as lines of KEY<tab>VALUE. Reads only, and starts no conda: the
# answer comes from files, since a conda start costs half a second of CPU on every node.
#
# $1  name of the environment

name=$1

found=
try() { # path, how it was found
    [ -z "$found" ] || return 0
    case $1 in /*) ;; *) return 0 ;; esac
    # What `envsync bootstrap` has begun and not ended is nothing to build on (see install.sh).
    root=${1%/*/*}
    [ ! -e "${root%/*}/.envsync/bootstrap-${root##*/}/begun" ] || return 0
    if [ -f "$1" ] && [ -x "$1" ]; then
        found=$1
        say conda_exe "$1"
        say conda_found_by "$2"
    fi
}

try_tools() { # folder, how
    for tool in conda mamba micromamba; do
        try "$1/$tool" "$2"
    done
}

try_path() { # a PATH, how
    rest=$1:
    while [ -n "$rest" ]; do
        folder=${rest%%:*}
        rest=${rest#*:}
        [ -z "$folder" ] || try_tools "$folder" "$2"
    done
}

find_conda() {
    try_path "$PATH" PATH
    try "${CONDA_EXE:-}" CONDA_EXE
    try "${MAMBA_EXE:-}" MAMBA_EXE
    if [ -r "$HOME/.conda/environments.txt" ]; then
        # Every prefix that conda made, root prefixes among them (conda's user-wide list).
        while IFS= read -r prefix; do
            try_tools "$prefix/condabin" environments.txt
            # What `bin` holds may be any environment's package, but not where bootstrap was.
            [ ! -e "$prefix/.envsync-bootstrap" ] || try_tools "$prefix/bin" environments.txt
        done <"$HOME/.conda/environments.txt"
    fi
    for base in "$HOME" /opt /usr/local; do
        for kind in miniforge3 miniconda3 mambaforge anaconda3 miniforge miniconda anaconda; do
            try_tools "$base/$kind/condabin" 'usual folder'
            try_tools "$base/$kind/bin" 'usual folder'
        done
    done
    try /opt/conda/bin/conda 'usual folder'
    for folder in "$HOME/.local/bin" "$HOME/bin" "${MAMBA_ROOT_PREFIX:-$HOME/micromamba}/bin"; do
        try_tools "$folder" 'usual folder'
    done
    [ -n "$found" ] || ask_login_shell
}

# Last resort: what the user's own set-up would put into the environment of a terminal.
ask_login_shell() {
    [ -x "${SHELL:-}" ] || return 0
    case $SHELL in
    *csh) set -- "$SHELL" -ic env ;;
    *) set -- "$SHELL" -lic env ;;
    esac
    if command -v timeout >/dev/null 2>&1; then
        set -- timeout -k 1 15 "$@"
    fi
    settings=$("$@" 2>/dev/null </dev/null)
    for key in CONDA_EXE MAMBA_EXE; do
        try "$(printf '%s\n' "$settings" | sed -n "s/^$key=//p" | tail -n 1)" 'login shell'
    done
    try_path "$(printf '%s\n' "$settings" | sed -n 's/^PATH=//p' | tail -n 1)" 'login shell'
}

# The functions below set a variable of their own name: a subshell for each answer would cost
# more than the answer, and a push may look at a thousand nodes.

root_prefix() { # of $found
    case $found in
    */micromamba)
        root_prefix=${found%/*/*}
        [ ! -e "$root_prefix/.envsync-bootstrap" ] || return 0
        for root_prefix in "${MAMBA_ROOT_PREFIX:-}" "$HOME/micromamba" \
            "$HOME/.local/share/mamba"; do
            [ -z "$root_prefix" ] || [ ! -d "$root_prefix" ] || return 0
        done
        root_prefix=${MAMBA_ROOT_PREFIX:-$HOME/micromamba}
        ;;
    *)
        root_prefix=$found
        [ ! -L "$found" ] || root_prefix=$(readlink -f "$found")
        root_prefix=${root_prefix%/*/*}
        ;;
    esac
}

version() { # of $found below $root_prefix, from the record of its own package
    version=
    tool=${found##*/}
    for record in "$root_prefix/conda-meta/$tool"-[0-9]*.json; do
        [ -f "$record" ] || continue
        record=${record##*/"$tool"-}
        version=${record%%-*}
        return
    done
    # micromamba is one small binary, quick to start, and belongs to no prefix.
    [ "$tool" != micromamba ] || version=$("$found" --version 2>/dev/null | head -n 1)
}

# The first of `envs_dirs` in a .condarc: YAML, of which this reads the two usual forms.
first_envs_dir() { # file
    first_envs_dir=
    inside=
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        envs_dirs:*\[*)
            first_envs_dir=${line#*\[}
            first_envs_dir=${first_envs_dir%%[],]*}
            break
            ;;
        envs_dirs:*) inside=yes ;;
        -* | [[:blank:]]*-*)
            if [ -n "$inside" ]; then
                first_envs_dir=${line#*-}
                break
            fi
            ;;
        '' | '#'* | [[:blank:]]*) ;;
        *) [ -z "$inside" ] || break ;;
        esac
    done <"$1"
    quotes='["'"'"'[:blank:]]'
    while :; do
        case $first_envs_dir in
        $quotes*) first_envs_dir=${first_envs_dir#?} ;;
        *$quotes) first_envs_dir=${first_envs_dir%?} ;;
        *) break ;;
        esac
    done
}

# conda's documented places, strongest first; in each, the first item of envs_dirs counts.
envs_dir() { # below $root_prefix
    for envs_dir in "${CONDA_ENVS_DIRS:-}" "${CONDA_ENVS_PATH:-}"; do
        envs_dir=${envs_dir%%:*}
        [ -z "$envs_dir" ] || return 0
    done
    for rc in "${CONDARC:-}" "$HOME/.condarc" "$HOME/.conda/.condarc" "$HOME/.conda/condarc" \
        "${XDG_CONFIG_HOME:-$HOME/.config}/conda/.condarc" "$root_prefix/.condarc" \
        "$root_prefix/condarc" /etc/conda/.condarc /etc/conda/condarc; do
        [ -n "$rc" ] && [ -r "$rc" ] && [ -f "$rc" ] || continue
        first_envs_dir "$rc"
        envs_dir=$first_envs_dir
        case $envs_dir in
        '') continue ;;
        '~'/*) envs_dir=$HOME/${envs_dir#'~/'} ;;
        \$HOME/*) envs_dir=$HOME/${envs_dir#\$HOME/} ;;
        esac
        return
    done
    if [ -w "$root_prefix/envs" ] || { [ ! -e "$root_prefix/envs" ] && [ -w "$root_prefix" ]; }; then
        envs_dir=$root_prefix/envs
    else
        envs_dir=$HOME/.conda/envs
    fi
}

environment() { # in $envs_dir
    if [ -L "$envs_dir/$name" ]; then
        say link "$(readlink "$envs_dir/$name")"
    elif [ -e "$envs_dir/$name" ]; then
        say plain "$envs_dir/$name"
    fi
    for prefix in "$envs_dir/.envsync/$name"/*/; do
        prefix=${prefix%/}
        if [ -e "$prefix/.sealed" ]; then
            sealed=
            read -r sealed <"$prefix/.sealed"
            if [ "$sealed" = "$(fingerprint "$prefix")" ]; then
                say sealed "${prefix##*/}"
            else
                say changed "${prefix##*/}"
            fi
        elif [ -d "$prefix/conda-meta" ]; then
            say unsealed "${prefix##*/}"
        fi
    done
    if [ -d "$envs_dir/.envsync/$name/.push" ]; then
        say taken yes
    fi
    # Its lines have no tab, and follow as they are.
    if [ -r "$envs_dir/.envsync/$name/history" ]; then
        recent "$envs_dir/.envsync/$name/history"
    fi
}

recent() { # file: its last 100 lines; a short one is no reason to start a program
    lines=
    count=0
    while [ "$count" -le 20 ] && { IFS= read -r line || [ -n "$line" ]; }; do
        count=$((count + 1))
        lines="$lines$line$newline"
    done <"$1"
    if [ "$count" -le 20 ]; then
        printf '%s' "$lines"
    else
        tail -n 100 "$1"
    fi
}

cuda() {
    if [ -n "${CONDA_OVERRIDE_CUDA:-}" ]; then
        say cuda "$CONDA_OVERRIDE_CUDA"
    elif command -v nvidia-smi >/dev/null 2>&1; then
        set -- nvidia-smi
        if command -v timeout >/dev/null 2>&1; then
            set -- timeout -k 1 20 "$@"
        fi
        say cuda "$("$@" 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p')"
    fi
}

# What uname would say, from Linux itself where it says all of it (from 6.1 on): a program less
# on every node.
system() {
    for fact in ostype hostname osrelease arch; do
        read -r value <"/proc/sys/kernel/$fact" || return 1
        set -- "$@" "$value"
    done 2>/dev/null
    system=$1 hostname=$2 kernel=$3 machine=$4
}

newline='
'
say home "$HOME"
say user "${LOGNAME:-$(id -un)}"
if ! system; then
    # shellcheck disable=SC2046 # one word each
    set -- $(uname -snrm)
    system=$1 hostname=$2 kernel=$3 machine=$4
fi
say system "$system"
say hostname "$hostname"
say kernel "$kernel"
say machine "$machine"
say libc "$(getconf GNU_LIBC_VERSION 2>/dev/null)"
cuda
find_conda
if [ -n "$found" ]; then
    root_prefix
    version
    envs_dir
    say root_prefix "$root_prefix"
    say conda_version "$version"
    say envs_dir "$envs_dir"
    say_free "$envs_dir"
    environment
fi
exit 0
