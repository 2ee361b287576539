#!/bin/sh
# Says what this node has, as lines of KEY<tab>VALUE. Reads only, and starts no conda: the
# answer comes from files, since a conda start costs half a second of CPU on every node.
#
# $1  name of the environment

name=$1

say() { printf '%s\t%s\n' "$1" "$2"; }

found=
try() { # path, how it was found
    [ -z "$found" ] || return 0
    case $1 in /*) ;; *) return 0 ;; esac
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

root_prefix() { # of $found
    case $found in
    */micromamba)
        for root in "${MAMBA_ROOT_PREFIX:-}" "$HOME/micromamba" "$HOME/.local/share/mamba"; do
            [ -z "$root" ] || [ ! -d "$root" ] || break
        done
        [ -d "$root" ] || root=${MAMBA_ROOT_PREFIX:-$HOME/micromamba}
        ;;
    *)
        root=$(readlink -f "$found")
        root=${root%/*}
        root=${root%/*}
        ;;
    esac
    printf '%s' "$root"
}

version() { # of $found below root prefix $1, from the record of its own package
    tool=${found##*/}
    for record in "$1/conda-meta/$tool"-[0-9]*.json; do
        [ -f "$record" ] || continue
        record=${record##*/"$tool"-}
        printf '%s' "${record%%-*}"
        return
    done
    # micromamba is one small binary, quick to start, and belongs to no prefix.
    [ "$tool" != micromamba ] || "$found" --version 2>/dev/null | head -n 1
}

# conda's documented places, strongest first; in each, the first item of envs_dirs counts.
configured_envs_dir() { # root prefix
    for dirs in "${CONDA_ENVS_DIRS:-}" "${CONDA_ENVS_PATH:-}"; do
        [ -z "$dirs" ] || { printf '%s' "${dirs%%:*}" && return; }
    done
    for rc in "${CONDARC:-}" "$HOME/.condarc" "$HOME/.conda/.condarc" "$HOME/.conda/condarc" \
        "${XDG_CONFIG_HOME:-$HOME/.config}/conda/.condarc" "$1/.condarc" "$1/condarc" \
        /etc/conda/.condarc /etc/conda/condarc; do
        [ -n "$rc" ] && [ -r "$rc" ] || continue
        dir=$(awk '
            function clean(s) {
                gsub(/^[ \t"\047]+|[ \t"\047]+$/, "", s); return s
            }
            /^envs_dirs:[ \t]*\[/ {
                sub(/^envs_dirs:[ \t]*\[/, ""); sub(/[],].*/, ""); print clean($0); exit
            }
            /^envs_dirs:/ { inside = 1; next }
            inside && /^[ \t]*-/ { sub(/^[ \t]*-/, ""); print clean($0); exit }
            inside && /^[^ \t#]/ { exit }
        ' "$rc")
        case $dir in
        '') continue ;;
        '~'/*) dir=$HOME/${dir#'~/'} ;;
        \$HOME/*) dir=$HOME/${dir#\$HOME/} ;;
        esac
        printf '%s' "$dir"
        return
    done
}

envs_dir() { # root prefix
    dir=$(configured_envs_dir "$1")
    if [ -n "$dir" ]; then
        printf '%s' "$dir"
    elif [ -w "$1/envs" ] || { [ ! -e "$1/envs" ] && [ -w "$1" ]; }; then
        printf '%s' "$1/envs"
    else
        printf '%s' "$HOME/.conda/envs"
    fi
}

free_kib() { # a folder that need not exist yet
    folder=$1
    while [ ! -d "$folder" ] && [ -n "$folder" ]; do
        folder=${folder%/*}
    done
    df -Pk "${folder:-/}" 2>/dev/null | awk 'NR == 2 { print $4 }'
}

environment() { # envs dir
    if [ -L "$1/$name" ]; then
        say link "$(readlink "$1/$name")"
    elif [ -e "$1/$name" ]; then
        say plain "$1/$name"
    fi
    if [ -r "$1/.envsync/$name/history" ]; then
        tail -n 100 "$1/.envsync/$name/history" | while IFS= read -r line; do
            say switched "$line"
        done
    fi
    for prefix in "$1/.envsync/$name"/*/; do
        prefix=${prefix%/}
        if [ -e "$prefix/.sealed" ]; then
            if [ "$(head -n 1 "$prefix/.sealed")" = "$(fingerprint "$prefix")" ]; then
                say sealed "${prefix##*/}"
            else
                say changed "${prefix##*/}"
            fi
        elif [ -d "$prefix/conda-meta" ]; then
            say unsealed "${prefix##*/}"
        fi
    done
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

say home "$HOME"
say user "$(id -un)"
say hostname "$(uname -n)"
say system "$(uname -s)"
say machine "$(uname -m)"
say kernel "$(uname -r)"
say libc "$(getconf GNU_LIBC_VERSION 2>/dev/null)"
cuda
find_conda
if [ -n "$found" ]; then
    root=$(root_prefix)
    envs=$(envs_dir "$root")
    say root_prefix "$root"
    say conda_version "$(version "$root")"
    say envs_dir "$envs"
    say free_kib "$(free_kib "$envs")"
    environment "$envs"
fi
exit 0
