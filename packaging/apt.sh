#!/bin/bash
# Installs the Debian packages named as arguments that are not installed yet, and says so.
#
#   packaging/apt.sh gcc iptables          packages by name
#   packaging/apt.sh aws:awscli            package awscli, unless a command aws is already there from somewhere else
#   packaging/apt.sh --architecture arm64 libseccomp-dev   packages for another processor
set -euo pipefail

architecture=
if [[ ${1:-} == --architecture ]]; then
	architecture=:$2
	shift 2
fi
missing=()
for wanted in "$@"; do
	command=${wanted%%:*} package=${wanted##*:}$architecture
	if [[ $wanted == *:* ]] && command -v "$command" >/dev/null; then continue; fi
	if [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == *" installed" ]]; then continue; fi
	missing+=("$package")
done
((${#missing[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
	echo "apt.sh: this machine has no apt-get; install what corresponds to: ${missing[*]}" >&2
	exit 1
fi
if ((EUID != 0)); then
	echo "apt.sh: not root; run: sudo apt-get install ${missing[*]}" >&2
	exit 1
fi
echo "apt.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Debian starts the daemon of a package when it installs it, unless this file says no. Programs are wanted here, not daemons.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
if [[ $architecture ]]; then dpkg --add-architecture "${architecture#:}"; fi
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && exit 0
# The package lists are absent on a fresh machine, or too old.
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
