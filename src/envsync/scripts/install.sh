#!/bin/sh
# Runs an installer that was put into $2 as installer.sh, then prints the .condarc that it made.
# `begun` in $2 tells that the prefix is not whole: it is written before the installer starts,
# settle.sh takes it away, and whoever looks for a conda passes over such a prefix.
#
# $1  prefix   $2  folder to work in, beside it   $3  sha256 of the installer
# $4  `shell` for one that takes -b and -p, `program` for micromamba itself
# $5  `install`, or `upgrade` for an installation that is there and stays

prefix=$1
work=$2
digest=$3
kind=$4
mode=$5
file=$work/installer.sh
tmp=$work/tmp

# In the end there is what was there before, or a prefix that is known to be half done.
give_up() {
    if [ "$mode" = install ]; then
        rm -rf "$prefix" && rm -f "$work/begun"
    fi
    rm -rf "$tmp" "$file"
    exit "$1"
}
trap 'give_up 143' HUP INT TERM

# shellcheck disable=SC2046 # words
if command -v sha256sum >/dev/null 2>&1; then
    set -- $(sha256sum "$file")
elif command -v shasum >/dev/null 2>&1; then
    set -- $(shasum -a 256 "$file")
else
    set -- "$digest" # its size is right, and SSH has checked each packet
fi
if [ "$1" != "$digest" ]; then
    echo "installer-damaged: what arrived has the sha256 $1" >&2
    rm -f "$file"
    exit 1
fi

if [ "$mode" = install ] && { [ -e "$prefix" ] || [ -L "$prefix" ]; }; then
    if [ ! -e "$work/begun" ]; then
        echo "in-the-way: $prefix" >&2
        exit 1
    fi
    rm -rf "$prefix" || exit 1
fi
printf '%s\n' "$mode" >"$work/begun" || give_up 1

# The real installers run a program that unpacks itself into the folder for temporary files and
# fails where that is mounted noexec, as /tmp often is: so they get one beside the prefix.
rm -rf "$tmp"
{ mkdir -p "$tmp" && printf '#!/bin/sh\nexit 0\n' >"$tmp/try" && chmod 700 "$tmp/try"; } || give_up 1
if ! "$tmp/try"; then
    echo "noexec: ${prefix%/*}" >&2
    give_up 1
fi
unset PYTHONPATH PYTHONHOME CONDA_PREFIX CONDA_SHLVL CONDA_EXE CONDARC MAMBA_ROOT_PREFIX
export TMPDIR="$tmp" TMP="$tmp" TEMP="$tmp"

if [ "$kind" = program ]; then
    { mkdir -p "$prefix/bin" "$prefix/conda-meta" && cp "$file" "$prefix/bin/.micromamba" &&
        chmod 755 "$prefix/bin/.micromamba" &&
        mv -f "$prefix/bin/.micromamba" "$prefix/bin/micromamba" &&
        : >>"$prefix/conda-meta/history"; } || give_up 1
else
    # Those of today are for sh, older ones for bash alone.
    read -r first <"$file"
    shell='sh'
    case $first in
    *bash*) shell='bash' ;;
    esac
    if ! command -v "$shell" >/dev/null 2>&1; then
        echo "needs-bash: $first" >&2
        give_up 1
    fi
    update=
    [ "$mode" = install ] || update=-u
    # They run scripts with $SHELL, which may be a shell unlike sh.
    # shellcheck disable=SC2086 # one word or none
    SHELL=/bin/sh "$shell" "$file" -b $update -p "$prefix" </dev/null >&2 || give_up $?
fi

exe=$(tool "$prefix")
if [ -z "$exe" ] || ! "$exe" --version </dev/null >&2; then
    echo "not-whole: ${exe:-no conda} in $prefix" >&2
    give_up 1
fi
[ ! -e "$prefix/.condarc" ] || cat "$prefix/.condarc"
exit 0
