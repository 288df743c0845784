#!/usr/bin/env bash
# Installs, upgrades, removes and purges the Debian package of dist/ under a host with a task, in a copy of this machine that is thrown away
# (an overlay in a mount namespace of its own), does the same with install.sh, and reads the rpm. Makes dist/ twice before, which has to give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "installcheck: this makes containers and mounts: run it as root" >&2; exit 1; }
if [ "${1:-}" != inside ]; then
	packaging/apt.sh rpm:rpm iptables:iptables
	sums=dist/SHA256SUMS
	[ -e "$sums" ] || sums=dist/SHA256SUMS.unsigned
	before=$(sort "$sums")
	packaging/release/release.sh >/dev/null
	[ "$before" = "$(sort "$sums")" ] || { echo "installcheck: a second run has made other bytes" >&2; exit 1; }
	exec unshare --mount --propagation private "$0" inside
fi

fail() { echo "installcheck: $*" >&2; exit 1; }
deb=$(ls dist/*.deb) rpm=$(ls dist/*.rpm)
base=$(mktemp -d /tmp/pinion-installcheck-XXXXXX)
mount -t tmpfs none "$base"
mkdir "$base/upper" "$base/work" "$base/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$base/root"
for dir in proc sys dev; do mount --rbind "/$dir" "$base/root/$dir"; done
mount -t tmpfs none "$base/root/run"
mount -t tmpfs none "$base/root/tmp"
mkdir "$base/root/data"
mount -t tmpfs none "$base/root/data"
cp "$deb" "$base/root/tmp/pinion.deb"
enter=(chroot "$base/root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin PINION_DATA_DIR=/data/pinion)
inside() { "${enter[@]}" "$@"; }
cleanup() {
	status=$?
	cp bin/pinion "$base/root/tmp/pinion"
	inside /tmp/pinion down --purge --force >/dev/null 2>&1 || true
	umount -R "$base" 2>/dev/null || umount -lR "$base"
	rmdir "$base"
	exit $status
}
trap cleanup EXIT

start() {
	: >"$base/log"
	"${enter[@]}" pinion up --listen 127.0.0.1:0 --gpus sim:2xh100 >"$base/log" 2>&1 &
	host=$!
	for _ in $(seq 600); do
		if grep -q '^Pinion is ready' "$base/log"; then return; fi
		kill -0 "$host" 2>/dev/null || break
		sleep 0.1
	done
	cat "$base/log" >&2
	fail "the host is not ready"
}
stop() {
	kill "$host"
	wait "$host" || true
}
# The process of the task, by its port, which no other process has.
port=$((20000 + RANDOM))
lives() { pgrep -f "pinion hello --port $port\$" >/dev/null; }

echo 'PINION_DATA_DIR=/data/pinion' >"$base/root/etc/default/pinion"
inside dpkg -i /tmp/pinion.deb >/dev/null
for file in /usr/bin/pinion /usr/lib/systemd/system/pinion.service /etc/pinion/config.yaml /usr/share/man/man1/pinion.1.gz /usr/share/bash-completion/completions/pinion /usr/share/doc/pinion/copyright; do
	[ -s "$base/root$file" ] || fail "$file is not there"
done
pgrep -f '/usr/bin/pinion up' >/dev/null && fail "an installation has started a host"
inside man --warnings -E UTF-8 -l -Tutf8 /usr/share/man/man1/pinion.1.gz >/dev/null 2>"$base/man" || true
[ ! -s "$base/man" ] || { cat "$base/man" >&2; fail "the manual page has faults"; }
start
inside pinion run -d --gpus 1 --network host pinion/self -- pinion hello --port $port >/dev/null
for _ in $(seq 300); do lives && break; sleep 0.1; done
lives || fail "the task does not run"
pid=$(pgrep -f "pinion hello --port $port\$" | head -n 1)

cp dist/pinion-*-image.tar "$base/root/tmp/image.tar"
inside pinion image import /tmp/image.tar >/dev/null
[ "$(inside pinion run --network host "pinion:$VERSION" -- version | head -n 1)" = "pinion $VERSION" ] || fail "the container image is not of this version"
rm "$base/root/tmp/image.tar"

inside dpkg -i /tmp/pinion.deb >"$base/upgraded"
grep -q 'start it again' "$base/upgraded" || fail "an upgrade without systemd does not say that the host has the old program"
stop
start
[ "$pid" = "$(pgrep -f "pinion hello --port $port\$" | head -n 1)" ] || fail "the task did not outlive the upgrade"
inside pinion ps | grep -q RUNNING || fail "the new program does not know the task"

stop
inside cp /usr/bin/pinion /usr/bin/pinion.old # as `pinion upgrade` leaves it
inside dpkg -r pinion >/dev/null
lives || fail "removing the package has ended a task"
[ ! -e "$base/root/usr/bin/pinion" ] || fail "the program is still there"
[ -e "$base/root/data/pinion" ] || fail "removing the package has removed the data"
inside dpkg -P pinion >/dev/null
for _ in $(seq 100); do lives || break; sleep 0.1; done
! lives || fail "a purge has left a task"
[ ! -e "$base/root/data/pinion" ] || fail "a purge has left the data"
rm "$base/root/etc/default/pinion" # made here
left=$(find "$base/upper" -name '*pinion*' ! -type c -print)
[ -z "$left" ] || fail "a purge has left: $left"

mkdir "$base/root/tmp/release"
cp dist/*.tar.gz dist/SHA256SUMS* dist/install.sh "$base/root/tmp/release"
inside sh /tmp/release/install.sh >"$base/installed"
grep -q 'the signature is not verified' "$base/installed" || fail "install.sh does not say that it verifies no signature"
inside /usr/local/bin/pinion version >/dev/null
inside sh /tmp/release/install.sh >"$base/installed" # not into grep -q, which ends before it
grep -q 'is there already' "$base/installed" || fail "a second run of install.sh changes something"
installed=$(sha256sum <"$base/root/usr/local/bin/pinion")
printf x >>"$(ls "$base"/root/tmp/release/*.tar.gz)"
inside sh /tmp/release/install.sh 2>"$base/refused" && fail "install.sh takes a tarball that was changed"
grep -q 'nothing was installed' "$base/refused" || fail "install.sh does not say what it refuses"
inside env INSTALL_PINION_KEY=RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3 sh /tmp/release/install.sh 2>/dev/null && fail "install.sh takes a release that is not signed by the key"
[ "$installed" = "$(sha256sum <"$base/root/usr/local/bin/pinion")" ] || fail "a refused release has replaced the program"
inside cp /usr/local/bin/pinion /usr/local/bin/pinion.old
inside /usr/local/bin/pinion-uninstall.sh
rm -r "$base/root/tmp/release"
left=$(find "$base/upper" -name '*pinion*' ! -type c -print)
[ -z "$left" ] || fail "the uninstall script has left: $left"

rpm -qp --list "$rpm" 2>/dev/null | sort >"$base/files"
for file in /usr/bin/pinion /usr/lib/systemd/system/pinion.service /etc/pinion/config.yaml /usr/share/man/man1/pinion.1.gz; do
	grep -qx "$file" "$base/files" || fail "the rpm has no $file"
done
[ "$(rpm -qp --queryformat '[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}\n]' "$rpm" 2>/dev/null | sed -n 's#^/usr/bin/pinion ##p')" = "100755 root" ] || fail "the program of the rpm has another mode or owner"
rpm -qp --scripts "$rpm" 2>/dev/null | grep -q 'try-restart pinion.service' || fail "the rpm does not restart a host after an upgrade"
# What the rpm runs at an upgrade (1) and when it is erased (0).
rpm -qp --queryformat '%{POSTUN}' "$rpm" 2>/dev/null >"$base/root/tmp/postun.sh"
inside touch /usr/bin/pinion.old
inside sh /tmp/postun.sh 1
[ -e "$base/root/usr/bin/pinion.old" ] || fail "an upgrade of the rpm takes the program of before away"
inside sh /tmp/postun.sh 0
[ ! -e "$base/root/usr/bin/pinion.old" ] || fail "erasing the rpm leaves the program of before"
rpm -qp --configfiles "$rpm" 2>/dev/null | grep -qx /etc/pinion/config.yaml || fail "the options in the rpm are no configuration"
echo "installcheck: the deb was installed, upgraded under a task, removed and purged; nothing is left, nor of install.sh. The rpm has the same files. The container image runs."
