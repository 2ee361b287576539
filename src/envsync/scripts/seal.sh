#!/bin/sh
# Marks a generation as whole; from here on it is never built again. The marker says what the
# prefix holds, so that a change by hand can be seen later.
#
# $1  prefix   $2  text for the marker   $3  text of pin.sh   $4  what conda says to whoever
# wants to change it (CEP 22, "Frozen environments")

hooks=$1/etc/conda/activate.d
mkdir -p "$hooks" && printf '%s\n' "$3" >"$hooks/~envsync.sh" || exit 1
printf '%s\n' "$4" >"$1/conda-meta/frozen" || exit 1
part=$1/.sealed.$$
{ (fingerprint "$1") && printf '%s\n' "$2"; } >"$part" && mv -f "$part" "$1/.sealed"
