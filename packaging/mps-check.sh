# Checks of shares of a GPU, for gpu-check.sh, which reads this file: what containers get of their GPU's memory, and how it is given back. Uses its
# functions check and host, and its variables scratch and libraries. Needs gcc.

# The client allocates memory of its GPU: client MIB [clear] [hold]. It prints "allocated" or "refused". With clear it takes its own limit away
# before; with hold it computes until SIGTERM, and ends with 3 when it no longer can.
cat >"$scratch/client.c" <<'C'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static void end(int signal) { ended = signal; }

int main(int argc, char **argv) {
	int hold = 0;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "clear")) unsetenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
		if (!strcmp(argv[i], "hold")) hold = 1;
	}
	signal(SIGTERM, end);
	setvbuf(stdout, NULL, _IOLBF, 0);
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context;
	if (!cuda) { puts(dlerror()); return 2; }
	int (*init)(unsigned) = dlsym(cuda, "cuInit");
	int (*create)(void **, unsigned, int) = dlsym(cuda, "cuCtxCreate_v2");
	int (*allocate)(unsigned long long *, size_t) = dlsym(cuda, "cuMemAlloc_v2");
	int (*fill)(unsigned long long, unsigned char, size_t) = dlsym(cuda, "cuMemsetD8_v2");
	int (*synchronize)(void) = dlsym(cuda, "cuCtxSynchronize");
	size_t size = strtoul(argv[1], NULL, 10) << 20;
	unsigned long long memory;
	int failed;
	if ((failed = init(0)) || (failed = create(&context, 0, 0))) { printf("no context: %d\n", failed); return 2; }
	if ((failed = allocate(&memory, size))) { printf("refused: %d\n", failed); return 0; }
	puts("allocated");
	while (hold && !ended) {
		if ((failed = fill(memory, 1, 1 << 20)) || (failed = synchronize())) { printf("lost: %d\n", failed); return 3; }
		usleep(200000);
	}
	return 0;
}
C
gcc -O1 -o "$scratch/glibc/client" "$scratch/client.c" -ldl || { fail "gcc compiles the client of the MPS checks"; return; }

client=(-- /glibc/loader --library-path "/glibc:$libraries" /glibc/client)
share() { # share ANSWER SIZE [OPTION...] -- ARGUMENT...: a container with a share of SIZE prints ANSWER
	local answer=$1 size=$2 options=()
	shift 2
	while [[ $1 != -- ]]; do options+=("$1") && shift; done
	shift
	host run --gpu-memory "$size" --volume "$scratch/glibc:/glibc:ro" "${options[@]}" pinion/self "${client[@]}" "$@" >"$scratch/share" 2>&1
	grep -q "^$answer" "$scratch/share" || { cat "$scratch/share"; false; }
}
holding() { # holding SIZE MIB: starts a container with a share of SIZE that holds MIB, and prints its id
	local id
	id=$(host run -d --gpu-memory "$1" --volume "$scratch/glibc:/glibc:ro" pinion/self "${client[@]}" "$2" hold | tail -n 1) || return 1
	wait_for logged "$id" && echo "$id"
}
logged() { host logs "$1" 2>/dev/null | grep -q '^allocated'; }
wait_for() { # wait_for COMMAND...: it succeeds within a minute
	for _ in $(seq 300); do "$@" && return; sleep 0.2; done
	echo "after a minute still not: $*"
	false
}
whole() { # no GPU is shared: all compute for everybody, and the directory of every daemon, which is removed after its end, is gone
	[[ $(nvidia-smi --query-gpu=compute_mode --format=csv,noheader | sort -u) == Default ]] && [[ -z $(ls "$scratch/data/mps") ]]
}
shared() { nvidia-smi --query-gpu=compute_mode --format=csv,noheader | grep -q Exclusive_Process; }
stopped() { host inspect "$1" | grep -q GPUSharingError; }

check "a container allocates within its share" share allocated 4g -- 3000
check "it is refused more" share refused 4g -- 5000
check "also without its own limit" share refused 4g -- 5000 clear
check "also as another user" share refused 4g -u 1000 -- 5000
check "the GPU is one as any other afterwards" wait_for whole
first=$(holding 4g 1000) && pass "a container computes on its share" || fail "a container computes on its share: $first"
check "the GPU computes for the daemon's clients alone" shared
check "another has a larger share beside it" share allocated 12g -- 9000
second=$(holding 4g 3000) && pass "two compute at the same time" || fail "two compute at the same time: $second"
pkill -KILL -P "$(cat "$scratch"/data/mps/*/pipe/nvidia-cuda-mps-control.pid)" # the server is its daemon's only child
for id in "$first" "$second"; do check "a crash of the server ends container $id" wait_for stopped "$id"; done
check "the GPU is given back after the crash" wait_for whole
check "and shared again" share allocated 4g -- 3000
check "and given back again" wait_for whole
