#!/usr/bin/env bash
# Makes dist/ of bin/pinion: a tarball, packages for Debian and Red Hat, the bill of materials, the digests of all, and their signature.
# Needs no network beside what Go has in its module cache. The same commit gives the same bytes.
#
#   VERSION            of the program, as `git describe` prints it
#   ARCH               amd64 or arm64, which has to be that of this machine
#   SOURCE_DATE_EPOCH  seconds since 1970 that every file is of
#   RELEASE_KEY        file of a minisign private key; without it the digests are not signed, and the name of their file says so
set -euo pipefail
cd "$(dirname "$0")/../.."
export VERSION ARCH SOURCE_DATE_EPOCH
umask 022

here=$(go env GOHOSTARCH)
if [ "$ARCH" != "$here" ]; then
	echo "release: a release for $ARCH is built on a machine of $ARCH: the tools inside (runc, pinion-nvml) are C as well, and their builder has no cross compiler" >&2
	exit 1
fi
rm -rf dist
mkdir -p dist .build
STAGE=.build/release # which nfpm.yaml names
rm -rf "$STAGE"
mkdir -p "$STAGE"
install -m 755 bin/pinion "$STAGE/pinion"
sed 's#/usr/local/bin/pinion#/usr/bin/pinion#g' packaging/pinion.service >"$STAGE/pinion.service"
bin/pinion reference config >"$STAGE/config.yaml"
bin/pinion reference man | gzip -9n >"$STAGE/pinion.1.gz"
bin/pinion completion bash >"$STAGE/pinion.bash"
bin/pinion completion zsh >"$STAGE/_pinion"
bin/pinion completion fish >"$STAGE/pinion.fish"
cp bin/pinion.cdx.json LICENSE "$STAGE"

name=pinion-$VERSION-linux-$ARCH
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --transform "s#^\.#$name#" -C "$STAGE" . | gzip -9n >"dist/$name.tar.gz"
cp "$STAGE/pinion.cdx.json" "dist/$name.cdx.json"
go build -C packaging/release/nfpm -buildvcs=false -trimpath -o "$PWD/.build/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
find "$STAGE" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
# A package's version begins with a digit: that of a commit without a tag is 0.
case $VERSION in
v[0-9]*) VERSION=${VERSION#v} ;;
[0-9]*.*) ;;
*) VERSION=0.0.0+$VERSION ;;
esac
VERSION=${VERSION//-/\~}
for packager in deb rpm; do
	.build/nfpm package --config packaging/release/nfpm.yaml --packager $packager --target "dist/$name.$packager" >&2
done

sums=SHA256SUMS
[ -n "${RELEASE_KEY:-}" ] || sums=SHA256SUMS.unsigned
install -m 755 packaging/install.sh dist/install.sh
(cd dist && sha256sum -- "$name".* install.sh) >.build/sums
mv .build/sums "dist/$sums"
if [ -n "${RELEASE_KEY:-}" ]; then
	go run -buildvcs=false ./packaging/release/sign -key "$RELEASE_KEY" -comment "pinion $name" "dist/$sums"
else
	echo "release: UNSIGNED: RELEASE_KEY names no private key; hosts refuse what is not signed" >&2
fi
cat "dist/$sums"
