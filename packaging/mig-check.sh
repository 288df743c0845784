# Checks of MIG devices, for gpu-check.sh, which reads this file when PINION_CHECK_MIG names a GPU by its index: that GPU is partitioned into two of its
# smallest MIG devices, and made whole again. Nothing else may use it. Uses the functions check and host, and the variable scratch.

mig_index=$PINION_CHECK_MIG
mig_uuids() { nvidia-smi -L | grep -oE 'MIG-[0-9a-f-]{36}' | sort; }
mig_whole() { # makes the GPU whole again
	nvidia-smi mig -i "$mig_index" -dci >/dev/null 2>&1
	nvidia-smi mig -i "$mig_index" -dgi >/dev/null 2>&1
	nvidia-smi -i "$mig_index" -mig 0
}
mig_partition() {
	nvidia-smi -i "$mig_index" -mig 1 || return
	[[ $(nvidia-smi -i "$mig_index" --query-gpu=mig.mode.current --format=csv,noheader) == Enabled ]] || host gpus reset "$(hostname)/$mig_index" || return
	mig_profile=$(nvidia-smi mig -i "$mig_index" -lgip | grep -oE 'MIG 1g\.[0-9]+gb ' | head -n 1 | tr -d ' ' | sed 's/^MIG//')
	nvidia-smi mig -i "$mig_index" -cgi "$mig_profile,$mig_profile" -C
}
mig_listed() { # the host lists what nvidia-smi lists, within a minute
	for _ in $(seq 60); do
		cmp -s <(mig_uuids) <(host gpus --format '{{.uuid}}' | grep '^MIG-' | sort) && [[ $(mig_uuids | wc -l) == 2 ]] && return
		sleep 1
	done
	mig_uuids
	host gpus -o wide
	return 1
}
mig_inside() { # a container that asks for the profile sees one of them, and CUDA sees no other
	host run --gpus 1 --mig-profile "$mig_profile" pinion/self -- /pinion gpus --container >"$scratch/seen" 2>&1 || { cat "$scratch/seen"; return 1; }
	[[ $(grep -oE 'NVIDIA_VISIBLE_DEVICES=MIG-[0-9a-f-]{36}$' "$scratch/seen" | cut -d= -f2 | grep -c -xFf <(mig_uuids)) == 1 ]] || { cat "$scratch/seen"; false; }
}
mig_gone() {
	for _ in $(seq 60); do
		[[ $(host gpus --format '{{.uuid}} {{.health}}' | grep -c '^GPU-.* HEALTHY') == "${#gpus[@]}" ]] && ! host gpus --format '{{.uuid}}' | grep -q '^MIG-' && return
		sleep 1
	done
	host gpus -o wide
	return 1
}
check "GPU $mig_index is partitioned" mig_partition
check "its MIG devices are listed in its place" mig_listed
check "a container that asks for $mig_profile sees one of them" mig_inside
check "they pass a check, with a test of their memory" host gpus check $(mig_uuids)
check "GPU $mig_index is whole again" mig_whole
check "it is listed again, and its MIG devices are not missing" mig_gone
