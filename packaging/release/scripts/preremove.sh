#!/bin/sh
# Removing the package stops the host. Its tasks run on: they end with a purge, or with `pinion down` before.
set -e
case $1 in
remove | 0) ;;
*) exit 0 ;; # an upgrade
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now pinion.service || true
fi
PINION_DATA_DIR=/var/lib/pinion
if [ -r /etc/default/pinion ]; then . /etc/default/pinion; fi
if [ "$1" = remove ] && [ -e "$PINION_DATA_DIR" ]; then
	# A purge comes after the program has gone, and needs it to end tasks and to unmount what they have.
	mkdir -p /var/lib/pinion.purge
	cp /usr/bin/pinion /var/lib/pinion.purge/pinion
	echo "pinion: $PINION_DATA_DIR stays, and tasks run on; a purge ends them and removes it"
elif [ -e "$PINION_DATA_DIR" ]; then
	echo "pinion: $PINION_DATA_DIR stays, and tasks run on; \`pinion down --purge\` of an installed package ends them and removes it"
fi
