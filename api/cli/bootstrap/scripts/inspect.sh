# Prints what this machine is, as lines NAME=VALUE. It changes nothing.
echo "system=$(uname -s)"
echo "processor=$(uname -m)"
echo "machine=$(cat /etc/machine-id 2>/dev/null)"
if [ -f /etc/default/pinion ]; then echo "elsewhere=$(. /etc/default/pinion && echo "$PINION_DATA_DIR")"; fi
if [ -d /run/systemd/system ]; then echo systemd=yes; fi
if systemctl cat pinion >/dev/null 2>&1; then echo unit=yes; fi
if [ -f "$data/servers.json" ]; then echo member=yes; fi
if program=$(command -v pinion); then
	echo "program=$program"
	echo "digest=$(sha256sum "$program" | cut -d ' ' -f 1)"
	if runs; then
		echo "pool=$(sed -n 's/.*"pool": *"\([^"]*\)".*/\1/p' "$data/servers.json")"
		if pinion token ls >/dev/null 2>&1; then echo admits=yes; fi
	fi
fi
