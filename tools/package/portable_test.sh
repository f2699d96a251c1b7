#!/bin/bash
# The archive and the wheel: each brings the libraries that it needs, and its binary runs from there.
set -u

archive=$PWD/tools/package/portable.tar.gz
wheel=$(echo tools/package/wheel/*.whl)
model=$PWD/tools/package/tiny.model
failures=0
fail() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}

# What the loader takes from elsewhere is the C library alone.
expect_runs() {
  elsewhere=$(ldd "$1/bin/cleave" | sed -n 's/.* => \([^ ]*\) .*/\1/p' | grep -v "^$(realpath "$1")/lib/cleave/" |
    grep -vE '/(libc|libm)[.]so[.]6$|^$')
  elsewhere=$(for path in $elsewhere; do [ "${path#"$1"/}" != "$path" ] || echo "$path"; done)
  [ -z "$elsewhere" ] || fail "$1: libraries are taken from elsewhere: $elsewhere"
  mkdir -p "$1/work"
  cp "$model" "$1/work"
  (cd "$1/work" && env -i "$1/bin/cleave" compile tiny.model --devices 2 --quiet) || fail "$1: it compiles nothing"
  [ -e "$1/work/out/tiny/program.cc" ] || fail "$1: there is no program"
}

mkdir "$TEST_TMPDIR/archive"
tar -C "$TEST_TMPDIR/archive" --strip-components=1 -xzf "$archive" || fail "the archive cannot be unpacked"
expect_runs "$TEST_TMPDIR/archive"

case ${wheel##*/} in
  cleave-[0-9]*-py3-none-manylinux_2_[0-9]*_"$(uname -m)".whl) ;;
  *) fail "the wheel's name is $wheel" ;;
esac
mkdir "$TEST_TMPDIR/wheel"
unzip -q "$wheel" -d "$TEST_TMPDIR/wheel" || fail "the wheel cannot be unpacked"
cd "$TEST_TMPDIR/wheel" || exit 1
# Each file is in RECORD, with its digest; pip refuses a wheel where one differs.
find . -type f ! -name RECORD | sed 's/^[.][/]//' | sort >../files
sed 's/,.*//' -- *.dist-info/RECORD | grep -v '/RECORD$' | sort | diff - ../files >&2 || fail "RECORD names other files"
while IFS=, read -r file hash size; do
  case $file in */RECORD) continue ;; esac
  own=$(printf '%b' "$(sha256sum "$file" | cut -c1-64 | sed 's/../\\x&/g')" | base64 | tr '+/' '-_' | tr -d '=')
  [ "$hash,$size" = "sha256=$own,$(stat -c %s "$file")" ] || fail "RECORD has another digest of $file"
done < <(cat -- *.dist-info/RECORD)
# As pip lays it out.
mkdir ../environment
mv -- *.data/scripts ../environment/bin
mv -- *.data/data/* ../environment/
chmod +x ../environment/bin/cleave
expect_runs "$TEST_TMPDIR/environment"

[ "$failures" = 0 ] || exit 1
