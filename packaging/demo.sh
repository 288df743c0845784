#!/usr/bin/env bash
# The first five minutes: a host of your own, document 3's task on two of its GPUs, its log and its exit code.
# Uses the machine's GPUs; without any it simulates eight and says so. Leaves nothing behind.
set -euo pipefail

pinion=$(realpath "$(dirname "$0")/../bin/pinion")
[ "$(id -u)" = 0 ] || { echo "the demo makes containers: run it as root (sudo make demo)" >&2; exit 1; }

scratch=$(mktemp -d /tmp/pinion-demo-XXXXXX)
data=$scratch/data
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { local line="$*"; printf '$ %s\n' "${line//$pinion --data-dir $data/pinion}"; "$@"; }
cleanup() {
	status=$?
	say "Cleaning up"
	"$pinion" --data-dir "$data" down --purge --force || status=1
	rm -rf "$scratch"
	exit $status
}
trap cleanup EXIT

gpus=auto
if ! ls /proc/driver/nvidia/gpus/* >/dev/null 2>&1; then
	gpus=sim:8xh100
	say "This machine has no NVIDIA GPU: the demo SIMULATES eight H100s. Everything else is real."
fi

say "1. Start a host"
"$pinion" --data-dir "$data" up --listen 127.0.0.1:0 --gpus "$gpus" >"$scratch/up.log" 2>"$scratch/up.err" &
until grep -q '^Pinion is ready' "$scratch/up.log"; do
	kill -0 $! 2>/dev/null || { cat "$scratch/up.log" "$scratch/up.err" >&2; exit 1; }
	sleep 0.1
done
cat "$scratch/up.log"
run "$pinion" --data-dir "$data" gpus

say "2. Register a task definition: AWS's example-ecs-gpu, with the built-in image"
cat >"$scratch/example-ecs-gpu.json" <<'JSON'
{
  "family": "example-ecs-gpu",
  "containerDefinitions": [
    {
      "name": "gpu",
      "image": "pinion/self",
      "memory": 80,
      "cpu": 100,
      "essential": true,
      "command": ["/pinion", "gpus", "--container"],
      "resourceRequirements": [{ "type": "GPU", "value": "2" }]
    }
  ]
}
JSON
cat "$scratch/example-ecs-gpu.json"
run "$pinion" --data-dir "$data" register -f "$scratch/example-ecs-gpu.json"

say "3. Run it, as the AWS CLI would: the reply names the GPUs"
answer=$(curl -sS --unix-socket "$data/pinion.sock" http://pinion/v1/RunTask -d '{"taskDefinition":"example-ecs-gpu"}')
task=$(printf '%s' "$answer" | sed -n 's/.*"taskArn":"[^"]*\/\([0-9a-f]\{32\}\)".*/\1/p' | head -n 1)
[ -n "$task" ] || { echo "RunTask: $answer" >&2; exit 1; }
printf 'task   %s\ngpuIds %s\n' "$task" "$(printf '%s' "$answer" | sed -n 's/.*"gpuIds":\[\([^]]*\)\].*/\1/p')"

say "4. What the container saw: its own two GPUs and no other"
run "$pinion" --data-dir "$data" logs -f "$task"

say "5. How it ended"
until "$pinion" --data-dir "$data" inspect "$task" | grep -q '"lastStatus": *"STOPPED"'; do sleep 0.1; done
run "$pinion" --data-dir "$data" ps -a
"$pinion" --data-dir "$data" inspect "$task" | grep -q '"exitCode": *0' || { echo "the task did not end with exit code 0" >&2; exit 1; }
echo "exit code 0"
