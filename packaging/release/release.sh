#!/usr/bin/env bash
# Makes dist/ of the programs in bin/: for each processor a tarball, packages for Debian and Red Hat and the bill of materials; a container image
# for all of them; the digests, and their signature. Needs no network beside what Go has in its module cache. The same commit gives the same bytes.
#
#   VERSION            of the program, as `git describe` prints it
#   ARCHES             amd64, arm64, or both, with a blank between them
#   SOURCE_DATE_EPOCH  seconds since 1970 that every file is of
#   RELEASE_KEY        file of a minisign private key; without it the digests are not signed, and the name of their file says so
set -euo pipefail
cd "$(dirname "$0")/../.."
export VERSION ARCH SOURCE_DATE_EPOCH
umask 022

machine=$(go env GOHOSTARCH)
STAGE=.build/release # which nfpm.yaml names
# A package's version begins with a digit: that of a commit without a tag is 0.
case $VERSION in
v[0-9]*) packaged=${VERSION#v} ;;
[0-9]*.*) packaged=$VERSION ;;
*) packaged=0.0.0+$VERSION ;;
esac

# binary ARCH is the program for a processor.
binary() {
	if [ "$1" = "$machine" ]; then echo bin/pinion; else echo "bin/pinion-linux-$1"; fi
}

# stage ARCH fills the directory that packages are made of. What the program says of itself is the same for every processor.
stage() {
	rm -rf "$STAGE"
	mkdir -p "$STAGE"
	install -m 755 "$(binary "$1")" "$STAGE/pinion"
	sed 's#/usr/local/bin/pinion#/usr/bin/pinion#g' packaging/pinion.service >"$STAGE/pinion.service"
	bin/pinion reference config >"$STAGE/config.yaml"
	bin/pinion reference man | gzip -9n >"$STAGE/pinion.1.gz"
	bin/pinion completion bash >"$STAGE/pinion.bash"
	bin/pinion completion zsh >"$STAGE/_pinion"
	bin/pinion completion fish >"$STAGE/pinion.fish"
	install -m 644 "$(binary "$1").cdx.json" "$STAGE/pinion.cdx.json"
	install -m 644 "$(binary "$1").licences.txt" "$STAGE/licences.txt"
	cp LICENSE "$STAGE"
}

rm -rf dist
mkdir -p dist .build
go build -C packaging/release/nfpm -buildvcs=false -trimpath -o "$PWD/.build/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
programs=()
for ARCH in $ARCHES; do
	stage "$ARCH"
	name=pinion-$VERSION-linux-$ARCH
	[ -z "${RELEASE_KEY:-}" ] || go run -buildvcs=false ./packaging/release/sign -key "$RELEASE_KEY" -comment "$name" "$STAGE/pinion" # for `pinion upgrade`
	tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --transform "s#^\.#$name#" -C "$STAGE" . | gzip -9n >"dist/$name.tar.gz"
	cp "$STAGE/pinion.cdx.json" "dist/$name.cdx.json"
	find "$STAGE" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	for packager in deb rpm; do
		VERSION=${packaged//-/\~} .build/nfpm package --config packaging/release/nfpm.yaml --packager $packager --target "dist/$name.$packager" >&2
	done
	programs+=("$ARCH=$(binary "$ARCH")")
done
go run -buildvcs=false ./packaging/release/image -version "$VERSION" -created "$SOURCE_DATE_EPOCH" -o "dist/pinion-$VERSION-image.tar" "${programs[@]}"

sums=SHA256SUMS
[ -n "${RELEASE_KEY:-}" ] || sums=SHA256SUMS.unsigned
install -m 755 packaging/install.sh dist/install.sh
(cd dist && sha256sum -- "pinion-$VERSION"-* install.sh) >.build/sums
mv .build/sums "dist/$sums"
if [ -n "${RELEASE_KEY:-}" ]; then
	go run -buildvcs=false ./packaging/release/sign -key "$RELEASE_KEY" -comment "pinion $VERSION" "dist/$sums"
else
	echo "release: UNSIGNED: RELEASE_KEY names no private key; hosts refuse what is not signed" >&2
fi
cat "dist/$sums"
