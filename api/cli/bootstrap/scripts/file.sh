# Writes standard input into the file $1, which others may read. One that is there already and differs is kept as $1.old.
set -e
trap 'rm -f "$1.new"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$(dirname "$1")"
cat >"$1.new"
chmod 644 "$1.new"
if [ -e "$1" ] && ! cmp -s "$1" "$1.new"; then cp -p "$1" "$1.old"; fi
mv -f "$1.new" "$1"
