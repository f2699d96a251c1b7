#!/bin/bash
# What is in the Debian package, that it is the same each time, and that its binary runs.
set -u

package=$PWD/tools/package/cleave.deb
version=$(cat VERSION)
failures=0
fail() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}
field() { dpkg-deb --field "$package" "$1"; }
expect_field() { [ "$(field "$1")" = "$2" ] || fail "$1 is $(field "$1"), not $2"; }

expect_field Package cleave
expect_field Version "$version"
expect_field Architecture "$(dpkg --print-architecture)"
# Each library that the binary links directly belongs to a package that is named.
for name in libc6 libgcc-s1 libstdc++6; do
  field Depends | tr ',' '\n' | grep -qE "^ ?${name//+/\\+}( |$)" || fail "it does not depend on $name: $(field Depends)"
done
# Whoever only plans needs no compiler; whoever trains does.
for name in g++ make libdnnl-dev libjpeg-dev libopenmpi-dev libpcre2-dev libpng-dev openmpi-bin zlib1g-dev; do
  field Recommends | tr ',' '\n' | grep -qE "^ ?${name//+/\\+}$" || fail "it does not recommend $name"
  field Depends | tr ',' '\n' | grep -qE "^ ?${name//+/\\+}( |$)" && fail "it depends on $name"
done

tree=$TEST_TMPDIR/tree
dpkg-deb --extract "$package" "$tree" || fail "it cannot be unpacked"
found=$(cd "$tree" && find . -type f -printf '%m %p\n' | sort -k2)
expected="755 ./usr/bin/cleave
644 ./usr/share/bash-completion/completions/cleave
644 ./usr/share/doc/cleave/README.md
644 ./usr/share/doc/cleave/copyright
644 ./usr/share/man/man1/cleave.1.gz
644 ./usr/share/zsh/vendor-completions/_cleave"
[ "$found" = "$expected" ] || fail "it holds:
$found"
# What a program needs is what the command says where nothing is.
cp tools/package/tiny.model "$TEST_TMPDIR"
(cd "$TEST_TMPDIR" && PATH=/nowhere "$tree/usr/bin/cleave" run tiny.model --quiet 2>said)
[ $? = 5 ] || fail "a program runs without make"
[ "$(sed -n 's/^help: .*`apt-get install \(.*\)`$/\1/p' "$TEST_TMPDIR/said")" = "$(field Recommends | tr -d ,)" ] ||
  fail "it recommends $(field Recommends), but a program needs: $(cat "$TEST_TMPDIR/said")"
dpkg-deb --ctrl-tarfile "$package" | tar -xO ./md5sums >sums || fail "it has no sums"
(cd "$tree" && md5sum --quiet -c) <sums || fail "the sums are wrong"
dpkg-deb --contents "$package" | grep -v ' root/root ' && fail "not all belongs to root"

[ "$(env -i "$tree/usr/bin/cleave" --version)" = "cleave $version" ] || fail "its binary is not version $version"
"$tree/usr/bin/cleave" completion bash | cmp - "$tree/usr/share/bash-completion/completions/cleave" || fail "bash"
"$tree/usr/bin/cleave" completion zsh | cmp - "$tree/usr/share/zsh/vendor-completions/_cleave" || fail "zsh"
gzip -dc "$tree/usr/share/man/man1/cleave.1.gz" >"$TEST_TMPDIR/cleave.1"
"$tree/usr/bin/cleave" help --man | cmp - "$TEST_TMPDIR/cleave.1" || fail "the manual page"

# Made again in another folder, at another time, under another locale and umask.
(umask 077 && LC_ALL=C.UTF-8 TMPDIR=$TEST_TMPDIR tools/package/deb.sh "$TEST_TMPDIR/again.deb" "$tree/usr/bin/cleave" \
  VERSION NOTICE LICENSE README.md "$tree/usr/share/bash-completion/completions/cleave" \
  "$tree/usr/share/zsh/vendor-completions/_cleave" "$TEST_TMPDIR/cleave.1") ||
  fail "it cannot be made again"
cmp "$package" "$TEST_TMPDIR/again.deb" || fail "the same files give another package"

exit $((failures > 0))
