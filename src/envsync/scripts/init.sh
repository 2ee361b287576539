#!/bin/sh
# Lets the user's login shell know of a conda, as `conda init` does; says which shell that was.
#
# $1  prefix

prefix=$1
marker=$prefix/.envsync-bootstrap
exe=$(tool "$prefix")
shell=${SHELL##*/}
case $shell in
bash | zsh | fish | tcsh | xonsh) ;;
*)
    echo "no-init: $shell" >&2
    exit 1
    ;;
esac
# Nodes that share a home share the shell's files: one after the other.
turn=$prefix/.envsync-init
trap 'rmdir "$turn" 2>/dev/null' EXIT
trap 'exit 143' HUP INT TERM
second=0
until mkdir "$turn" 2>/dev/null || [ "$second" -ge 30 ]; do
    second=$((second + 1))
    sleep 1
done
# Known before it is done: then it is undone as well, whatever comes between.
line=$(printf 'shell\t%s' "$shell")
grep -qxF -e "$line" "$marker" || printf '%s\n' "$line" >>"$marker" || exit 1
case $exe in
*/micromamba) "$exe" shell init --shell "$shell" --root-prefix "$prefix" </dev/null >&2 ;;
*) "$exe" init "$shell" </dev/null >&2 ;;
esac || exit 1
printf '%s\n' "$shell"
