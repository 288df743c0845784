# Prints what this machine is, as lines NAME=VALUE. It changes nothing.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
echo "system=$(uname -s)"
echo "processor=$(uname -m)"
if [ -d /run/systemd/system ]; then echo systemd=yes; fi
if [ -d /var/lib/pinion ]; then echo data=yes; fi
if program=$(command -v pinion); then
	echo "program=$program"
	echo "digest=$(sha256sum "$program" | cut -d ' ' -f 1)"
	# A host that runs answers for itself, also while its pool has no leader.
	if pinion version -o json 2>/dev/null | grep -q '"host": "'; then echo "pool=$(sed -n 's/.*"pool": *"\([^"]*\)".*/\1/p' /var/lib/pinion/servers.json)"; fi
fi
