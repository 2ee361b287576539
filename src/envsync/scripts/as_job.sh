#!/bin/sh
# Activates a prefix the way `conda activate` does, then starts its Python. What start-up files
# and imports print goes wherever the caller sends it.
#
# $1  prefix   $2...  arguments for python

prefix=$1
shift

# conda's own order: PATH, then the variables kept in conda-meta/state, then the scripts
# (conda's docs: "Managing environments", saving environment variables).
export CONDA_PREFIX="$prefix" CONDA_DEFAULT_ENV="$prefix" CONDA_SHLVL=1
export PATH="$prefix/bin:$PATH"
if [ -f "$prefix/conda-meta/state" ] && [ -x "$prefix/bin/python" ]; then
    eval "$("$prefix/bin/python" -I -S -c '
import json, shlex, sys
for key, value in json.load(open(sys.argv[1])).get("env_vars", {}).items():
    if key.isidentifier() and value != "***unset***":
        print("export %s=%s" % (key, shlex.quote(value)))
' "$prefix/conda-meta/state")"
fi
for hook in "$prefix"/etc/conda/activate.d/*.sh; do
    # shellcheck disable=SC1090 # which scripts there are is the environment's affair
    [ ! -f "$hook" ] || . "$hook"
done
[ -x "$prefix/bin/python" ] || exit 127
exec "$prefix/bin/python" "$@"
