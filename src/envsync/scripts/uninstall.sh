#!/bin/sh
# Removes a conda that `envsync bootstrap` made or began to make, with all that is in it.
#
# $1  prefix   $2  folder beside it to work in

prefix=$1
work=$2
marker=$prefix/.envsync-bootstrap
known=$HOME/.conda/environments.txt

if [ ! -e "$marker" ] && [ ! -e "$work/begun" ]; then
    echo "in-the-way: $prefix" >&2
    exit 1
fi
exe=$(tool "$prefix")
sed -n 's/^shell	//p' "$marker" 2>/dev/null | while read -r shell; do
    case $exe in
    '') ;;
    */micromamba) "$exe" shell deinit --shell "$shell" --root-prefix "$prefix" </dev/null >&2 ;;
    *) "$exe" init --reverse "$shell" </dev/null >&2 ;;
    esac
done

# From here on it is nothing that anybody may use, and the next run ends what this one began.
echo remove >"$work/begun" || exit 1
rm -rf "$prefix" || exit 1
if [ -e "$known" ]; then
    GONE=$prefix awk '$0 != ENVIRON["GONE"] && index($0, ENVIRON["GONE"] "/") != 1' \
        "$known" >"$work/known" && cat "$work/known" >"$known" || exit 1
fi
rm -rf "$work/tmp" "$work/installer.sh" "$work/known"
rm -f "$work/begun"
