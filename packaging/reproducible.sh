#!/usr/bin/env bash
# Builds the last commit twice and compares the two binaries, byte by byte. What may differ between two machines of the same Go and
# C compiler differs here: directory, times of files, umask, language, time zone, Go's flags, number of CPUs. The second build has an empty
# cache, so that it compiles everything itself.
set -euo pipefail

cd "$(dirname "$0")/.."
[ -z "$(git status --porcelain)" ] || echo "reproducible: changes that are not committed are left out"
commit=$(git rev-parse HEAD)
scratch=$(mktemp -d /tmp/pinion-twice-XXXXXX)
trap 'rm -rf "$scratch"' EXIT

# build DIR VARIABLE=VALUE... clones into DIR and builds there.
build() {
	local dir=$1
	shift
	mkdir -p "$(dirname "$dir")" "$scratch/tmp"
	git clone -q --no-checkout . "$dir"
	git -C "$dir" checkout -q --detach "$commit"
	find "$dir" -path "$dir/.git" -prune -o -exec touch -d "$touched" {} +
	env -C "$dir" "$@" make --no-print-directory build
	# Where the two differ is told by the digests of the tools inside.
	cp "$dir/packaging/bundle/tools.sum" "$dir.sum"
	(cd "$dir" && sha256sum bin/pinion packaging/bundle/tools.tar.zst) >>"$dir.sum"
}

touched=2001-02-03 build "$scratch/one"
umask 077
touched=2024-05-06 build "$scratch/another/place with a longer name" TZ=Asia/Kolkata LC_ALL=C GOFLAGS=-buildvcs=auto GOMAXPROCS=3 \
	GOCACHE="$scratch/cache" TMPDIR="$scratch/tmp" HOSTNAME=elsewhere

if ! diff "$scratch/one.sum" "$scratch/another/place with a longer name.sum"; then
	echo "reproducible: the two builds differ in the files above" >&2
	exit 1
fi
cmp "$scratch/one/bin/pinion" "$scratch/another/place with a longer name/bin/pinion"
cat "$scratch/one.sum"
echo "reproducible: two builds of ${commit:0:12}, one digest"
