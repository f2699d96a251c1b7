#!/bin/bash
# Puts the command `cleave`, its manual page and its completion for shells below a folder: `bazel run //tools:install -- --prefix DIR`.
set -u

binary=$1 bash_completion=$2 zsh_completion=$3 manual=$4
shift 4

usage() {
  printf 'error: %s\nhelp: `bazel run //tools:install -- [--prefix DIR]`\n' "$1" >&2
  exit 2
}

prefix=
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -gt 1 ] || usage '`--prefix` names no folder'
      prefix=$2
      shift 2
      ;;
    --prefix=*)
      prefix=${1#--prefix=}
      shift
      ;;
    --help | -h)
      echo 'Installs cleave: bazel run //tools:install -- [--prefix DIR]'
      echo '  DIR/bin/cleave and in DIR/share its manual page and its completion for bash and zsh (default: ~/.local)'
      exit 0
      ;;
    -p* | --p*) usage "unexpected \`$1\`; did you mean \`--prefix\`?" ;;
    *) usage "unexpected \`$1\`" ;;
  esac
  [ -n "$prefix" ] || usage '`--prefix` names no folder'
done
if [ -z "$prefix" ]; then
  [ -n "${HOME-}" ] || usage 'HOME is not set: name a folder with `--prefix`'
  prefix=$HOME/.local
fi
# `bazel run` starts this in a folder of its own.
case $prefix in /*) ;; *) prefix=${BUILD_WORKING_DIRECTORY:-$PWD}/$prefix ;; esac

# Puts the file $2 at $3 with mode $1: as a whole, also where the command is running.
put() {
  mkdir -p "${3%/*}" && install -m "$1" -T "$2" "$3.$$" && mv -f -T "$3.$$" "$3" && return
  rm -f "$3.$$"
  echo "error: cannot install \`$3\`" >&2
  exit 5
}

put 755 "$binary" "$prefix/bin/cleave"
put 644 "$bash_completion" "$prefix/share/bash-completion/completions/cleave"
put 644 "$zsh_completion" "$prefix/share/zsh/site-functions/_cleave"
put 644 "$manual" "$prefix/share/man/man1/cleave.1"
version=$("$prefix/bin/cleave" --version) || { echo "error: \`$prefix/bin/cleave\` does not start" >&2; exit 5; }
echo "installed $version: $prefix/bin/cleave"
case ":${PATH-}:" in
  *":$prefix/bin:"*) ;;
  *) echo "$prefix/bin is not on the PATH: add it there" ;;
esac
