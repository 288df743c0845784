#!/usr/bin/env bash
# Checks Pinion against the real NVIDIA GPUs of this machine: starts a host of its own in a scratch directory, compares
# what it says with nvidia-smi, looks from inside containers, and has them share a GPU (mps-check.sh, which needs
# nvidia-cuda-mps-control and gcc). Prints PASS or FAIL for each point; ends with 0 when
# all passed, 1 when one failed, 2 when this machine cannot be checked. Needs root; leaves nothing behind.
#
#   [PINION_CHECK_MIG=0] packaging/gpu-check.sh [path of pinion]      default: bin/pinion of this repository
set -uo pipefail

pinion=$(realpath -m "${1:-$(dirname "$0")/../bin/pinion}")
cannot() { echo "cannot check: $*" >&2; exit 2; }
[[ -x $pinion ]] || cannot "$pinion is missing; run \`make build\`, or name the binary"
((EUID == 0)) || cannot "containers need root; run it with sudo"
command -v nvidia-smi >/dev/null || cannot "this machine has no NVIDIA driver (no nvidia-smi); there is no GPU to check against"
nvidia-smi -L >/dev/null 2>&1 || cannot "nvidia-smi finds no GPU: $(nvidia-smi -L 2>&1 | head -n 1)"
mapfile -t gpus < <(nvidia-smi --query-gpu=uuid --format=csv,noheader)

failures=0
pass() { echo "PASS  $*"; }
fail() { echo "FAIL  $*"; failures=$((failures + 1)); }
# check TEXT COMMAND...: the command's success decides; what it printed explains a failure.
check() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1); then pass "$text"; else fail "$text"; sed 's/^/      /' <<<"$said" | tail -n 15; fi
}

scratch=$(mktemp -d /tmp/pinion-gpu-check-XXXXXX)
host() { "$pinion" --data-dir "$scratch/data" "$@"; }
cleanup() {
	host down --purge --force >/dev/null 2>&1 || echo "pinion down --purge failed; look at $scratch" >&2
	rm -rf "$scratch"
}
trap cleanup EXIT

echo "pinion    $("$pinion" version | head -n 1)"
echo "driver    $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1), ${#gpus[@]} GPUs: $(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | xargs)"

source=auto
if command -v nvidia-cuda-mps-control >/dev/null && command -v gcc >/dev/null && [[ $(nvidia-smi --query-gpu=compute_mode --format=csv,noheader | sort -u) == Default ]]; then
	source=auto,mps
else
	echo "NOT CHECKED: shares of a GPU, which need nvidia-cuda-mps-control, gcc and GPUs in compute mode Default"
fi
mkdir "$scratch/glibc"
"$pinion" --data-dir "$scratch/data" up --listen 127.0.0.1:0 --gpus "$source" --volume "$scratch/glibc:ro" --log-level debug >"$scratch/out" 2>"$scratch/err" &
for _ in $(seq 300); do
	grep -q '^Pinion is ready' "$scratch/out" && break
	kill -0 $! 2>/dev/null || { fail "pinion up"; tail -n 20 "$scratch/out" "$scratch/err"; exit 1; }
	sleep 0.2
done
grep -q '^Pinion is ready' "$scratch/out" || { fail "pinion up is not ready after a minute"; tail -n 20 "$scratch/err"; exit 1; }
pass "pinion up"

host -o json gpus >"$scratch/gpus.json"
listed() { [[ $(grep -o '"hostId"' "$scratch/gpus.json" | wc -l) == "${#gpus[@]}" ]] || { cat "$scratch/gpus.json"; false; }; }
has() { grep -qE "\"$1\": *\"$2\"" "$scratch/gpus.json" || { cat "$scratch/gpus.json"; false; }; }
sound() { ! grep -oE '"health": *"[A-Z_]+"' "$scratch/gpus.json" | grep -v '"HEALTHY"'; }
check "the inventory has as many GPUs as nvidia-smi (${#gpus[@]})" listed
check "every GPU is healthy" sound
while IFS=, read -r uuid name; do
	check "$uuid is in the inventory" has uuid "$uuid"
	check "$uuid is a ${name# }" has model "${name# }"
done < <(nvidia-smi --query-gpu=uuid,name --format=csv,noheader)

# A container made of the pinion binary alone has no C library, which nvidia-smi needs: this machine's is lent to it.
loader=$(ls /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.* 2>/dev/null | head -n 1)
libraries=$(dirname "$(ldconfig -p | awk '/libnvidia-ml.so.1 /{print $NF; exit}')")
cp -L "$loader" "$scratch/glibc/loader"
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
	path=$(ldconfig -p | awk -v name="$library" '$1 == name && /x86-64|AArch64/ {print $NF; exit}')
	[[ -n $path ]] && cp -L "$path" "$scratch/glibc/"
done
smi() { # smi N: nvidia-smi -L in a container with N GPUs shows exactly N
	host run --gpus "$1" --volume "$scratch/glibc:/glibc:ro" pinion/self -- \
		/glibc/loader --library-path "/glibc:$libraries" "$(command -v nvidia-smi)" -L >"$scratch/smi" 2>&1 &&
		[[ $(grep -c '^GPU ' "$scratch/smi") == "$1" ]] || { cat "$scratch/smi"; false; }
}
sees() { # sees N: the container has N device nodes that open, and names N UUIDs of this machine
	local uuids
	host run --gpus "$1" pinion/self -- /pinion gpus --container >"$scratch/seen" 2>&1 || { cat "$scratch/seen"; return 1; }
	uuids=$(grep -o 'NVIDIA_VISIBLE_DEVICES=[^ "]*' "$scratch/seen" | head -n 1)
	uuids=${uuids#*=}
	[[ $(tr ',' '\n' <<<"$uuids" | grep -c -xFf <(printf '%s\n' "${gpus[@]}")) == "$1" &&
		$(grep -cE '^device /dev/nvidia[0-9]+$' "$scratch/seen") == "$1" ]] || { cat "$scratch/seen"; false; }
}
blind() { # a container that asks for no GPU sees none
	host run pinion/self -- /pinion gpus --container >"$scratch/seen" 2>&1 || { cat "$scratch/seen"; return 1; }
	grep -q 'NVIDIA_VISIBLE_DEVICES=void' "$scratch/seen" && ! grep -qE '/dev/nvidia' "$scratch/seen" || { cat "$scratch/seen"; false; }
}
check "a container without GPUs sees none" blind
for n in $(printf '%s\n' 1 2 4 8 "${#gpus[@]}" | sort -nu); do
	((n <= ${#gpus[@]})) || continue
	check "a container with $n GPU(s) sees exactly those" sees "$n"
	check "nvidia-smi in a container with $n GPU(s) lists exactly those" smi "$n"
done
too_many() { ! host run --gpus $((${#gpus[@]} + 1)) pinion/self -- /pinion version; }
check "one GPU more than there are is refused" too_many
usage() { # what pinion measures of each GPU is what nvidia-smi shows at nearly the same time: memory to 64 MiB, temperature to 5 degrees, power to 30 W
	sleep 6 # the next sample
	host top --once --format '{{.uuid}} {{.usage.memoryUsedMiB}} {{.usage.powerWatts}} {{.usage.celsius}} {{.usage.utilization}}' |
		sed 's/<no value>/-/g' >"$scratch/usage"
	nvidia-smi --query-gpu=uuid,memory.used,power.draw,temperature.gpu --format=csv,noheader,nounits | tr -d , >"$scratch/smi-usage"
	[[ $(wc -l <"$scratch/usage") == "${#gpus[@]}" ]] && awk '
		function far(a, b, by) { return b ~ /^[0-9]/ && (a == "-" || a - b > by || b - a > by) } # what nvidia-smi does not know may be anything
		NR == FNR { memory[$1] = $2; watts[$1] = $3; celsius[$1] = $4; next }
		!($1 in memory) || far(memory[$1], $2, 64) || far(watts[$1], $3, 30) || far(celsius[$1], $4, 5) { wrong = 1 }
		END { exit wrong }' "$scratch/usage" "$scratch/smi-usage" || { cat "$scratch/usage" "$scratch/smi-usage"; false; }
}
check "the measured use of every GPU is what nvidia-smi shows" usage
check "every GPU passes a check, with a test of its memory" host gpus check "${gpus[@]}"
[[ $source == auto ]] || . "$(dirname "$0")/mps-check.sh"
if [[ ${PINION_CHECK_MIG:-} ]]; then
	. "$(dirname "$0")/mig-check.sh"
else
	echo "NOT CHECKED: MIG devices; with PINION_CHECK_MIG=INDEX that GPU is partitioned for it"
fi
calm() { ! grep -E 'pinion-nvml died' "$scratch/err"; }
check "the pinion-nvml helper never died" calm

((failures == 0)) && echo "all passed" || echo "$failures failed"
exit $((failures > 0))
