#!/bin/sh
# Installs Pinion from the tarball of a release, with a systemd unit where there is systemd. Running it again with the same release changes nothing.
#
#   INSTALL_PINION_URL          where the files of the release are; empty: beside this script
#   INSTALL_PINION_VERSION      of the release, such as v0.1.0; may be left out where one tarball is beside this script
#   INSTALL_PINION_KEY          minisign public key that has signed the release (the line that begins with RW). Without it the digests alone are
#                               verified: they show a broken download, not a forged one
#   INSTALL_PINION_SKIP_ENABLE  yes: the service is neither enabled nor started
#   INSTALL_PINION_SKIP_START   yes: the service is not started
#   INSTALL_PINION_PREFIX       /usr/local unless given
#   INSTALL_PINION_SYSTEMD_DIR  /etc/systemd/system unless given
set -e
set -o noglob

fail() {
	echo "install.sh: $*" >&2
	exit 1
}
say() { echo "install.sh: $*"; }

prefix=${INSTALL_PINION_PREFIX:-/usr/local}
units=${INSTALL_PINION_SYSTEMD_DIR:-/etc/systemd/system}
beside=$(cd "$(dirname "$0")" && pwd)

check() {
	[ "$(uname -s)" = Linux ] || fail "this needs Linux: hosts are Linux machines"
	[ "$(id -u)" = 0 ] || fail "this needs root: run it with sudo"
	case $(uname -m) in
	x86_64) arch=amd64 ;;
	aarch64) arch=arm64 ;;
	*) fail "the processor is $(uname -m): there is Pinion for x86-64 and arm64" ;;
	esac
	[ -e /sys/fs/cgroup/cgroup.controllers ] || [ -d /sys/fs/cgroup/memory ] || fail "no control groups are mounted at /sys/fs/cgroup: containers cannot be limited"
	grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || fail "the kernel has no overlayfs (modprobe overlay)"
	command -v iptables >/dev/null || say "iptables is missing: containers will reach nothing beyond the host, and publish no ports"
}

# fetch brings a file of the release into the directory for work.
fetch() {
	if [ -z "$INSTALL_PINION_URL" ]; then
		[ -f "$beside/$1" ] || return 1
		cp "$beside/$1" "$work/$1"
	elif command -v curl >/dev/null; then
		curl -fsSL -o "$work/$1" "$INSTALL_PINION_URL/$1"
	else
		wget -q -O "$work/$1" "$INSTALL_PINION_URL/$1"
	fi
}

find_version() {
	version=$INSTALL_PINION_VERSION
	if [ -z "$version" ] && [ -z "$INSTALL_PINION_URL" ]; then
		version=$(cd "$beside" && ls | sed -n "s/^pinion-\(.*\)-linux-$arch\.tar\.gz$/\1/p")
		case $version in
		*"
"*) fail "several releases are beside this script: name one with INSTALL_PINION_VERSION" ;;
		esac
	fi
	[ -n "$version" ] || fail "no release is beside this script: name one with INSTALL_PINION_VERSION, and where it is with INSTALL_PINION_URL"
	name=pinion-$version-linux-$arch
}

verify() {
	fetch "$name.tar.gz" || fail "there is no $name.tar.gz"
	if fetch SHA256SUMS; then
		sums=SHA256SUMS
	elif [ -z "$INSTALL_PINION_KEY" ] && fetch SHA256SUMS.unsigned; then
		sums=SHA256SUMS.unsigned
	else
		fail "there is no SHA256SUMS beside $name.tar.gz"
	fi
	if [ -n "$INSTALL_PINION_KEY" ]; then
		command -v minisign >/dev/null || fail "the program minisign is missing, which verifies the signature (Debian and Fedora have it)"
		fetch SHA256SUMS.minisig || fail "there is no SHA256SUMS.minisig: the release is not signed"
		minisign -Vqm "$work/SHA256SUMS" -P "$INSTALL_PINION_KEY" || fail "the signature is not of the key $INSTALL_PINION_KEY: nothing was installed"
	else
		say "the signature is not verified, as INSTALL_PINION_KEY names no key"
	fi
	(cd "$work" && grep " $name\.tar\.gz\$" "$sums" | sha256sum -c - >/dev/null 2>&1) || fail "$name.tar.gz is not what $sums says: nothing was installed"
	tar -xzf "$work/$name.tar.gz" -C "$work"
	"$work/$name/pinion" version >/dev/null || fail "the program of $name does not run here"
}

# put installs a file where it differs.
put() {
	cmp -s "$work/$name/$2" "$3" && return
	mkdir -p "$(dirname "$3")"
	install -m "$1" "$work/$name/$2" "$3.new"
	mv -f "$3.new" "$3"
	changed=yes
}

files() {
	put 755 pinion "$prefix/bin/pinion"
	put 644 pinion.1.gz "$prefix/share/man/man1/pinion.1.gz"
	put 644 pinion.bash "$prefix/share/bash-completion/completions/pinion"
	put 644 _pinion "$prefix/share/zsh/site-functions/_pinion"
	put 644 pinion.fish "$prefix/share/fish/vendor_completions.d/pinion.fish"
	[ -e /etc/pinion/config.yaml ] || put 644 config.yaml /etc/pinion/config.yaml
	if [ -d /run/systemd/system ]; then
		sed -i "s#/usr/bin/pinion#$prefix/bin/pinion#g" "$work/$name/pinion.service"
		put 644 pinion.service "$units/pinion.service"
	fi
}

# uninstaller writes the script that takes everything away again.
uninstaller() {
	cat >"$work/uninstall" <<END
#!/bin/sh
# Removes Pinion with everything that its host has: tasks end, and their logs, volumes and images go.
set -e
[ "\$(id -u)" = 0 ] || { echo "this needs root" >&2; exit 1; }
if [ -r /etc/default/pinion ]; then . /etc/default/pinion; fi
data=\${PINION_DATA_DIR:-/var/lib/pinion}
if [ -d /run/systemd/system ]; then systemctl disable --now pinion.service || true; fi
if [ -e "\$data" ]; then "$prefix/bin/pinion" --data-dir "\$data" down --purge --force; fi
rm -f "$units/pinion.service" /etc/pinion/config.yaml "$prefix/bin/pinion" "$prefix/bin/pinion.old" "$prefix/share/man/man1/pinion.1.gz" "$prefix/share/bash-completion/completions/pinion" \\
	"$prefix/share/zsh/site-functions/_pinion" "$prefix/share/fish/vendor_completions.d/pinion.fish"
rmdir /etc/pinion 2>/dev/null || true
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
rm -f "$prefix/bin/pinion-uninstall.sh"
END
	install -m 755 "$work/uninstall" "$prefix/bin/pinion-uninstall.sh"
}

service() {
	if [ ! -d /run/systemd/system ]; then
		say "there is no systemd here: start the host with \`pinion up\`"
		return
	fi
	systemctl daemon-reload
	if [ "$INSTALL_PINION_SKIP_ENABLE" = yes ]; then return; fi
	systemctl enable --quiet pinion.service
	if [ "$INSTALL_PINION_SKIP_START" = yes ]; then return; fi
	# A host that runs is started again with the new program; its tasks run on.
	if [ "$changed" = yes ]; then systemctl --no-block restart pinion.service; else systemctl --no-block start pinion.service; fi
	say "the host starts: \`journalctl -fu pinion\` shows how, and \`pinion doctor\` what the machine lacks"
}

check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
find_version
verify
changed=no
files
uninstaller
if [ "$changed" = yes ]; then say "$name is in $prefix/bin"; else say "$name is there already"; fi
service
