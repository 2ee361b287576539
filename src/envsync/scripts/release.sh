#!/bin/sh
# Gives an environment back that `hold.sh` took, if the same push still has it.
#
# $1  envs dir   $2  environment   $3  token of the push

lock=$1/.envsync/$2/.push
if read -r token _ 2>/dev/null <"$lock/owner" && [ "$token" = "$3" ]; then
    mv "$lock" "$lock.$3" && rm -rf "$lock.$3"
fi
rmdir "${lock%/*}" 2>/dev/null # nothing was built there
exit 0
