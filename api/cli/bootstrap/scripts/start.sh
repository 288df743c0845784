# Starts the host, and waits until it is part of a pool. $1 is the host to join, with the token on standard input; empty: a new pool.
set -e
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
token=/run/pinion-join-token
dropin=/run/systemd/system/pinion.service.d/join.conf
log=/var/log/pinion.log
options=
if [ -n "$1" ]; then
	(umask 077 && cat >"$token")
	options="--join $1 --token-file $token"
fi
# Options of the first start alone: they are gone after it, with the token.
forget() {
	rm -f "$token"
	if [ -e "$dropin" ]; then
		rm -f "$dropin"
		systemctl daemon-reload
	fi
}
trap forget EXIT
if [ -d /run/systemd/system ]; then
	if [ -n "$options" ]; then
		mkdir -p "$(dirname "$dropin")"
		printf '[Service]\nExecStart=\nExecStart=%s up $PINION_OPTIONS %s\n' "$(command -v pinion)" "$options" >"$dropin"
	fi
	systemctl daemon-reload
	systemctl enable --quiet pinion
	systemctl restart --no-block pinion # what follows waits, and shows the log of a start that fails
else
	# shellcheck disable=SC2086
	setsid pinion up $options >>"$log" 2>&1 </dev/null &
fi
tries=0
until pinion hosts >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ "$tries" -ge 240 ]; then
		if [ -d /run/systemd/system ]; then journalctl --no-pager -n 20 -u pinion >&2; else tail -n 20 "$log" >&2; fi
		exit 1
	fi
	sleep 0.5
done
