#!/bin/sh
# Removes a generation that did not pass; never a sealed one.
#
# $1  prefix

case $1 in
*/.envsync/*/*) [ -e "$1/.sealed" ] || rm -rf "$1" ;;
esac
