#!/bin/bash
# Makes an archive and a Python wheel of the command, for systems without its libraries: portable.sh ARCHIVE WHEEL_FOLDER BINARY
# VERSION NOTICE LICENSE README BASH_COMPLETION ZSH_COMPLETION MANUAL. The same files give the same bytes.
#
# The libraries that the command links lie in lib/cleave beside bin, where it looks for them first (DT_RPATH); of the system
# it needs the C library alone, in the version that the wheel's tag names (PEP 600).
set -eu

archive=$1 wheel=$2 binary=$3 version=$(cat "$4") notice=$5 license=$6 readme=$7
bash_completion=$8 zsh_completion=$9 manual=${10}
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600 # Every file has this date: 2026-01-01.
umask 022

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=cleave-$version
root=$folder/$name
install -D -m 755 "$binary" "$root/bin/cleave"
install -D -m 644 "$bash_completion" "$root/share/bash-completion/completions/cleave"
install -D -m 644 "$zsh_completion" "$root/share/zsh/site-functions/_cleave"
install -D -m 644 "$manual" "$root/share/man/man1/cleave.1"
cat "$notice" "$license" >"$folder/copyright"
install -D -m 644 "$folder/copyright" "$root/share/doc/cleave/copyright"
install -D -m 644 "$readme" "$root/share/doc/cleave/README.md"

# All but the C library, which belongs to the system, as does the loader. A library's license lies beside it.
while read -r library path; do
  case $library in ld-linux* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.*) continue ;; esac
  install -D -m 644 "$path" "$root/lib/cleave/$library"
  package=$(dpkg-query -S "$(realpath "$path")" 2>/dev/null | sed -n '1s/:.*//p')
  [ ! -e "/usr/share/doc/$package/copyright" ] ||
    install -D -m 644 "/usr/share/doc/$package/copyright" "$root/share/doc/cleave/libraries/$library.copyright"
done < <(ldd "$binary" | sed -n 's/^\t\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | sort)

glibc=$(objdump -T "$root/bin/cleave" "$root"/lib/cleave/* | grep -o 'GLIBC_2[.][0-9]*' | sort -uV | tail -n 1)
tag=py3-none-manylinux_${glibc#GLIBC_}_$(uname -m)
tag=${tag/2./2_}

find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$folder" -cf - "$name" | gzip -6n >"$archive"

# A wheel is a zip file. What is below .data/scripts and .data/data goes to bin and to the root of the environment.
contents=$folder/wheel
data=$contents/$name.data info=$contents/$name.dist-info
mkdir -p "$data/scripts" "$data/data" "$info"
cp "$root/bin/cleave" "$data/scripts/cleave"
cp -r "$root/lib" "$root/share" "$data/data/"
cp "$folder/copyright" "$info/LICENSE"
printf 'Wheel-Version: 1.0\nGenerator: cleave\nRoot-Is-Purelib: false\nTag: %s\n' "$tag" >"$info/WHEEL"
{
  printf 'Metadata-Version: 2.1\nName: cleave\nVersion: %s\nLicense: Apache-2.0\n' "$version"
  printf 'Summary: Compiler of models into programs that train them on many ranks\nDescription-Content-Type: text/markdown\n\n'
  cat "$readme"
} >"$info/METADATA"
(
  cd "$contents"
  find . -type f | sed 's/^[.][/]//' | sort | while read -r file; do
    hash=$(printf '%b' "$(sha256sum "$file" | cut -c1-64 | sed 's/../\\x&/g')" | base64 | tr '+/' '-_' | tr -d '=')
    echo "$file,sha256=$hash,$(stat -c %s "$file")"
  done >"$folder/RECORD"
  echo "$name.dist-info/RECORD,," >>"$folder/RECORD"
  cp "$folder/RECORD" "$name.dist-info/RECORD"
  find . -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  find . -type f | sed 's/^[.][/]//' | sort | zip -qX6 "$folder/wheel.zip" -@
)
mkdir -p "$wheel"
cp "$folder/wheel.zip" "$wheel/$name-$tag.whl"
