#!/usr/bin/env bash
# Starts the pinion for arm64 on a machine of another processor, emulated by qemu: it joins its own pool, and its container runtime starts and answers.
# No container runs: qemu lacks clone's namespaces and the kernel's interface for networks.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "armcheck: this starts a host: run it as root" >&2; exit 1; }
pinion=$PWD/bin/pinion-linux-arm64
packaging/apt.sh qemu-aarch64-static:qemu-user-static
[ "$("$(command -v qemu-aarch64-static)" "$pinion" --version)" = "$(bin/pinion --version)" ] || { echo "armcheck: it does not tell its version" >&2; exit 1; }

base=$(mktemp -d /tmp/pinion-armcheck-XXXXXX)
mkdir "$base/formats"
mount -t binfmt_misc none "$base/formats"
format="pinion-armcheck"
cleanup() {
	status=$?
	[ $status = 0 ] || cat "$base/log" >&2 || true
	# Its processes have the name of the emulator: they are those that run files of the directory.
	for process in $(pgrep -f "$base" || true); do [ "$process" = $$ ] || kill -9 "$process" 2>/dev/null || true; done
	if [ -e "$base/formats/$format" ]; then echo -1 >"$base/formats/$format"; fi
	umount "$base/formats"
	umount -R "$base/data" 2>/dev/null || true
	rm -rf "$base"
	exit $status
}
trap cleanup EXIT
# Programs for arm64 run as others do, those that pinion starts as well: the number of the processor in the head of an ELF file, and the emulator.
printf '%s' ":$format:M::"'\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$(command -v qemu-aarch64-static):F" >"$base/formats/register"

"$pinion" --data-dir "$base/data" up --listen 127.0.0.1:0 --gpus sim:2xh100 >"$base/log" 2>&1 &
host=$!
for _ in $(seq 3000); do
	if grep -q '^Pinion is ready' "$base/log"; then break; fi
	kill -0 "$host"
	sleep 0.1
done
grep -q '^Pinion is ready' "$base/log"
for tool in "$base"/data/bundle/*/{containerd,containerd-shim-runc-v2,runc,pinion-logger,pinion-entrypoint,pinion-nvml,cni/bridge}; do
	[ "$(od -An -tx1 -j18 -N2 "$tool" | tr -d ' \n')" = b700 ] || { echo "armcheck: $tool is for another processor" >&2; exit 1; }
done
runc=$(echo "$base"/data/bundle/*/runc)
"$runc" --version | grep -q '^libseccomp' || { echo "armcheck: runc has no seccomp" >&2; exit 1; }
bin/pinion --data-dir "$base/data" hosts -o json | grep -q '"arm64"' || { echo "armcheck: the host does not say that it is of arm64" >&2; exit 1; }
bin/pinion --data-dir "$base/data" gpus | grep -q H100
kill "$host"
wait "$host" || true
echo "armcheck: pinion for arm64 starts here, with the runtime inside, and is a host of a pool"
