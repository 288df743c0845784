# Starts the host, and waits until it is part of a pool. $1 is the host to join, with the token on standard input; empty: a new pool.
set -e
token=/run/pinion-join-token
dropin=/run/systemd/system/pinion.service.d/join.conf
log=/var/log/pinion.log
host= # the process, where there is no systemd
ready=

# What is for the first start alone goes after it. A host that could not join must not start again: without a token it would make a pool of its own.
finish() {
	if [ -z "$ready" ]; then
		if [ -d /run/systemd/system ]; then
			journalctl --no-pager -n 20 -u pinion >&2 || :
			systemctl stop pinion || :
			systemctl disable --quiet pinion || :
		elif [ -n "$host" ]; then
			tail -n 20 "$log" >&2
			kill "$host" 2>/dev/null || :
		fi
	fi
	rm -f "$token"
	if [ -e "$dropin" ]; then
		rm -f "$dropin"
		systemctl daemon-reload
	fi
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

options=
if [ -n "$1" ]; then
	(umask 077 && cat >"$token")
	options="--join $1 --token-file $token"
fi
if [ -d /run/systemd/system ]; then
	if [ -n "$options" ]; then
		mkdir -p "$(dirname "$dropin")"
		printf '[Service]\nExecStart=\nExecStart=%s up $PINION_OPTIONS %s\n' "$(command -v pinion)" "$options" >"$dropin"
	fi
	systemctl daemon-reload
	systemctl restart --no-block pinion # what follows waits, and shows the log of a start that fails
else
	# shellcheck disable=SC2086
	setsid pinion up $options >>"$log" 2>&1 </dev/null &
	host=$!
fi
tries=0
until runs && pinion hosts >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ "$tries" -ge 240 ]; then exit 1; fi
	if [ -n "$host" ] && ! kill -0 "$host" 2>/dev/null; then exit 1; fi
	sleep 0.5
done
if [ -d /run/systemd/system ]; then systemctl enable --quiet pinion; fi
ready=yes
