#!/bin/sh
# A purge ends the tasks, and leaves nothing of the host. An erased rpm leaves no program either: `pinion upgrade` keeps the one of before beside it, which no
# package has.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
case $1 in
purge | 0) rm -f /usr/bin/pinion.old ;;
esac
[ "$1" = purge ] || exit 0
PINION_DATA_DIR=/var/lib/pinion
if [ -r /etc/default/pinion ]; then . /etc/default/pinion; fi
if [ -x /var/lib/pinion.purge/pinion ] && [ -e "$PINION_DATA_DIR" ]; then
	echo "pinion: removing $PINION_DATA_DIR, with its logs, volumes and images; tasks end"
	/var/lib/pinion.purge/pinion --data-dir "$PINION_DATA_DIR" down --purge --force
fi
rm -rf /var/lib/pinion.purge
rmdir /etc/pinion 2>/dev/null || true
