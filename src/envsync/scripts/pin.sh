# shellcheck shell=sh
# Written by envsync. Activating an environment by its name leads through a link, and the link
# may point to another generation tomorrow. A shell that was activated today, and every job it
# starts, stays with the generation of today: with its files, not with its name.
_envsync_prefix=$(cd "$CONDA_PREFIX" 2>/dev/null && pwd -P)
if [ -n "$_envsync_prefix" ] && [ "$_envsync_prefix" != "$CONDA_PREFIX" ]; then
    case $PATH: in
    "$CONDA_PREFIX/bin":?*) PATH=$_envsync_prefix/bin:${PATH#"$CONDA_PREFIX/bin:"} ;;
    *) PATH=$_envsync_prefix/bin:$PATH ;;
    esac
    export PATH
    export CONDA_PREFIX="$_envsync_prefix"
fi
unset _envsync_prefix
