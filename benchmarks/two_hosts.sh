#!/bin/sh
# Runs an MPI program on hosts that this machine only plays: network namespaces, joined through a switch by links of a
# given rate in each direction. One rank per host.
#
#   two_hosts.sh [--hosts N] [--rate RATE] [--mca KEY VALUE]... -- program argument...
#
#   --hosts N          how many, 2 by default
#   --rate RATE        of each link and direction, as tc writes rates: 1gbit (the default), 200mbit, …
#   --mca KEY VALUE    handed to mpirun, as often as you like
#
# Needs root, since it makes namespaces, and Open MPI's mpirun. What it makes is removed when it ends, also when it is
# interrupted. Its exit status is that of mpirun.
set -eu

fail() {
  echo "two_hosts.sh: $*" >&2
  exit 2
}

hosts=2 rate=1gbit mca=
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=${2-} && shift ;;
    --rate) rate=${2-} && shift ;;
    --mca)
      [ $# -ge 3 ] || fail "--mca needs a key and a value"
      mca="$mca --mca $2 $3" && shift 2
      ;;
    --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;;
    --) shift && break ;;
    *) fail "does not know $1; the program comes after --, as in: two_hosts.sh --rate 200mbit -- program argument…" ;;
  esac
  shift
done
[ $# -gt 0 ] || fail "no program given; it comes after --, as in: two_hosts.sh --rate 200mbit -- program argument…"
case $hosts in
  '' | *[!0-9]*) fail "--hosts must be a number from 2 to 250, not '$hosts'" ;;
esac
{ [ "$hosts" -ge 2 ] && [ "$hosts" -le 250 ]; } || fail "--hosts must be a number from 2 to 250, not '$hosts'"
[ "$(id -u)" -eq 0 ] || fail "needs root, to make network namespaces: try sudo $0"
for command in ip tc mpirun; do
  command -v "$command" >/dev/null || fail "needs $command; on Debian and Ubuntu: apt-get install iproute2 openmpi-bin"
done

# Names that no other run has.
name=syncopate$$ switch=syncopate$$-switch
made=
agent=$(mktemp)

remove() {
  trap '' INT TERM HUP
  for namespace in $made; do
    # shellcheck disable=SC2046  # a list of numbers
    kill -KILL $(ip netns pids "$namespace") 2>/dev/null || true
    ip netns delete "$namespace" 2>/dev/null || true
  done
  rm -rf "$agent" "$agent".d
}
trap remove EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

namespace() {
  ip netns add "$1"
  made="$made $1"
  ip -n "$1" link set lo up
}

# A token bucket of at least 64 KiB lets the kernel hand over large segments whole, as network cards do.
limit() {
  tc -n "$1" qdisc add dev "$2" root tbf rate "$rate" burst 128kb latency 50ms ||
    fail "tc did not take the rate '$rate'; write it as 1gbit or 200mbit"
}

namespace "$switch"
ip -n "$switch" link add bridge0 type bridge
ip -n "$switch" link set bridge0 up
list=
host=1
while [ "$host" -le "$hosts" ]; do
  namespace "$name-$host"
  ip -n "$switch" link add "port$host" type veth peer name eth0 netns "$name-$host"
  ip -n "$switch" link set "port$host" master bridge0 up
  ip -n "$name-$host" address add "10.77.0.$host/24" dev eth0
  ip -n "$name-$host" link set eth0 up
  limit "$name-$host" eth0
  limit "$switch" "port$host"
  list="$list${list:+,}10.77.0.$host:1"
  host=$((host + 1))
done

# What mpirun uses in place of ssh: `agent 10.77.0.N command…`.
mkdir "$agent".d
cat >"$agent" <<END
#!/bin/sh
host=\${1##*.}
shift
mkdir -p "$agent.d/\$host"
exec ip netns exec "$name-\$host" env TMPDIR="$agent.d/\$host" sh -c "\$*"
END
chmod +x "$agent"

# Hosts share this machine's cores, so ranks are not bound to "their" host's first one.
set -- --host "$list" --map-by node --bind-to none --mca plm_rsh_agent "$agent" --mca btl tcp,self \
  --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 "$@"
# shellcheck disable=SC2086  # a list of words
set -- $mca "$@"
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$agent.d \
  ip netns exec "$name-1" mpirun "$@" &
# Waited for in the background, so that a signal ends the script at once and with it all that it made.
wait $!
