#!/bin/sh
# After an installation nothing runs that did not run before. After an upgrade a host that runs is started again with the new program;
# its tasks run on.
set -e
rm -rf /var/lib/pinion.purge # of a package that was removed and not purged
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# Debian: configure OLD-VERSION; Red Hat: the number of versions.
	if [ "$1" = configure ] && [ -n "$2" ] || [ "$1" = 2 ]; then
		systemctl --no-block try-restart pinion.service
	fi
elif [ "$1" = configure ] && [ -n "$2" ] || [ "$1" = 2 ]; then
	echo "pinion: there is no systemd here: a host that runs has the old program until you start it again; its tasks run on"
fi
