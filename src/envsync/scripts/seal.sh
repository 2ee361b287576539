#!/bin/sh
# Marks a generation as whole; from here on it is never built again. The marker says what the
# prefix holds, so that a change by hand can be seen later.
#
# $1  prefix   $2  text for the marker

{ fingerprint "$1" && printf '%s\n' "$2"; } >"$1/.sealed.part" && mv -f "$1/.sealed.part" "$1/.sealed"
