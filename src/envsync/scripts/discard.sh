#!/bin/sh
# Removes a generation that did not pass, with what lies beside it; never a sealed one.
#
# $1  prefix

case $1 in
*/.envsync/*/*) ;;
*) exit 1 ;;
esac
[ ! -e "$1/.sealed" ] || exit 0
for suffix in $(beside); do
    rm -f "$1.$suffix"
done
rm -rf "$1" "$1.files" "$1.lent"
