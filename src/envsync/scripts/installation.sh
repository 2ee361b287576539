#!/bin/sh
# Says what there is of a conda that `envsync bootstrap` made, or would make. Reads only.
#
# $1  prefix that is wished for, may begin with ~/   $2  root prefix of the conda that was found

prefix=$1
case $prefix in
\~/*) prefix=$HOME/${prefix#\~/} ;;
esac
# What envsync has made elsewhere is meant, whatever was wished for.
if [ -n "$2" ] && [ -e "$2/.envsync-bootstrap" ]; then
    prefix=$2
fi
work=${prefix%/*}/.envsync/bootstrap-${prefix##*/}
marker=$prefix/.envsync-bootstrap

say prefix "$prefix"
if [ -e "$work/begun" ]; then
    say state begun
    say begun "$(cat "$work/begun")"
elif [ -e "$marker" ]; then
    say state whole
elif [ -e "$prefix" ] || [ -L "$prefix" ]; then
    say state foreign
else
    say state absent
fi
if [ -e "$marker" ]; then
    cat "$marker" # its lines are of this form
fi
for environment in "$prefix"/envs/*/; do
    [ ! -d "$environment" ] || say environment "$(basename "$environment")"
done
say_free "${prefix%/*}"
exit 0
