#!/bin/bash
# Makes the Debian package of the command: deb.sh PACKAGE BINARY VERSION NOTICE LICENSE README BASH_COMPLETION
# ZSH_COMPLETION MANUAL. The same files give the same bytes.
set -eu

package=$1 binary=$2 version=$(cat "$3") notice=$4 license=$5 readme=$6
bash_completion=$7 zsh_completion=$8 manual=$9
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600 # Every file has this date: 2026-01-01.
umask 022

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/root
install -D -m 755 "$binary" "$root/usr/bin/cleave"
install -D -m 644 "$bash_completion" "$root/usr/share/bash-completion/completions/cleave"
install -D -m 644 "$zsh_completion" "$root/usr/share/zsh/vendor-completions/_cleave"
install -d "$root/usr/share/man/man1" && gzip -9n <"$manual" >"$root/usr/share/man/man1/cleave.1.gz"
install -D -m 644 "$readme" "$root/usr/share/doc/cleave/README.md"
cat "$notice" "$license" >"$root/usr/share/doc/cleave/copyright"

# dpkg-shlibdeps knows from which versions on a package has what the command links. It wants to see a source package.
mkdir "$folder/debian"
printf 'Source: cleave\n\nPackage: cleave\nArchitecture: any\nDescription: none\n' >"$folder/debian/control"
libraries=$(cd "$folder" && dpkg-shlibdeps -O root/usr/bin/cleave 2>shlibdeps.log) || { cat "$folder/shlibdeps.log" >&2; exit 1; }

mkdir "$root/DEBIAN"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
cat >"$root/DEBIAN/control" <<END
Package: cleave
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: ${DEBFULLNAME:-Cleave} <${DEBEMAIL:-cleave@localhost}>
Section: science
Priority: optional
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Depends: ${libraries#shlibs:Depends=}
Recommends: make, g++, libdnnl-dev, libjpeg-dev, libopenmpi-dev, libpcre2-dev, libpng-dev, openmpi-bin, zlib1g-dev
Suggests: libgloo-dev, bash-completion
Description: compiler of models into programs that train them on many ranks
 Cleave takes a model that was written once, for one device, finds how to split
 it over any number of ranks, proves that the split program computes the same,
 and writes plain C++ or CUDA.
 .
 The recommended packages build and start the programs that it writes.
END
dpkg-deb --root-owner-group -Zxz -z2 --threads-max=1 --build "$root" "$folder/cleave.deb" >/dev/null
cp "$folder/cleave.deb" "$package"
