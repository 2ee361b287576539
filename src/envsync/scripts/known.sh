# shellcheck shell=sh
# Put before the scripts that need it.

# conda's list of what there is, by which other programs find a prefix in an unusual place.
make_known() { # prefix
    known=$HOME/.conda/environments.txt
    grep -qxF -e "$1" "$known" 2>/dev/null ||
        { mkdir -p "${known%/*}" && printf '%s\n' "$1" >>"$known"; }
}
