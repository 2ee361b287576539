# shellcheck shell=sh
# Put before the scripts that need it.

# Runs pip in a prefix as a job would. Standard output has pip's own words alone: what start-up
# files and activation scripts print goes to standard error.
as_pip() { # prefix, text of as_job.sh, arguments for pip
    shell=$(command -v bash || echo /bin/sh)
    prefix=$1
    as_job=$2
    shift 2
    "$shell" -c "$as_job" as_job "$prefix" -c '
import os, runpy, sys
os.dup2(3, 1)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
' "$@" 3>&1 >&2
}
