#!/bin/sh
# A Prolog for Slurm (slurm.conf: Prolog=/etc/slurm/prolog.d/envsync.sh, PrologFlags=Alloc).
#
# Looks at the environment on this node before a job starts. A node that drifted or is unfit is
# drained with the reason, and the job goes back to the queue. A node that could not be judged, since
# the file or envsync itself is not there, keeps its jobs: shared storage that is away for a minute
# must not drain a whole cluster.
#
# Settings, in /etc/default/envsync:
#   ENVSYNC       the program                       (envsync, found on PATH)
#   ENVSYNC_FILE  environment.yml, beside its lock  (/etc/envsync/environment.yml)
#   CONDA_EXE     the nodes' conda                  (found by envsync)
#   HOME          of the user who pushes            (/root)
#   SECONDS_MOST  longest time to look              (20)

# slurmd sets no PATH, and perhaps no HOME.
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
HOME=${HOME:-/root}
defaults=${ENVSYNC_DEFAULTS:-/etc/default/envsync}
if [ -r "$defaults" ]; then
    # shellcheck source=/dev/null
    . "$defaults"
fi
export PATH HOME
if [ -n "${CONDA_EXE:-}" ]; then
    export CONDA_EXE
fi
file=${ENVSYNC_FILE:-/etc/envsync/environment.yml}
node=${SLURMD_NODENAME:-$(hostname -s)}

said=$(timeout -k 1 "${SECONDS_MOST:-20}" \
    "${ENVSYNC:-envsync}" verify localhost, --launcher local -f "$file" 2>&1 </dev/null)
code=$?
last=$(printf '%s\n' "$said" | sed -n '$p')

case "$code $last" in
"0 "*) exit 0 ;;
"1 "*": of 1 node "*)  # its last word; a Python that is broken ends with 1 as well
    # The only call of a Slurm command, and only on a node that is taken out of use anyway.
    scontrol update NodeName="$node" State=DRAIN Reason="envsync: $last" || :
    # Without it, this drains the node as well; the job is queued again (held, unless slurm.conf
    # has nohold_on_prolog_fail).
    exit 1
    ;;
*)
    logger -t envsync-prolog "$node was not judged (exit code $code): $last" 2>/dev/null || :
    exit 0
    ;;
esac
