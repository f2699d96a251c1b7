#!/bin/sh
# Names objects after all that they are made from, and keeps those of the runtime where every folder of this user finds
# them. The Makefile beside `runtime` calls it, in its folder.
#
#   objects.sh names (UNIT COMPILE PREPROCESS SOURCES)…   prints UNIT.KEY for each unit, in order: `UNIT.KEY.o` is made
#       by the command COMPILE from SOURCES, one word each. KEY is a hash of the command, the compiler and the
#       processor that it compiles for, the sources with all that they include by "…", and the headers of libraries,
#       which PREPROCESS reads.
#   objects.sh cache                   prints the user's folder for objects, made where it is not there: `cleave` in
#       $XDG_CACHE_HOME, else ~/.cache; nothing where objects cannot be kept there, or CLEAVE_CACHE is `off`
#   objects.sh keep OBJECT NAME FOLDER copies an object to FOLDER/NAME, completely or not at all; what others have kept
#       under that name is the same, and where there is no space nothing happens
#   objects.sh take KEPT OBJECT        gives a kept object the name OBJECT too, as a link or a copy, or fails
#   objects.sh used FOLDER OBJECT…     notes that a program was linked with these objects, and removes those in FOLDER
#       that no program was linked with for a month
#   objects.sh sources                 prints a hash of the sources in this folder
#
# The commands of the compilers that explain themselves are known: `-###` (GCC, Clang) and `--dryrun` (nvcc). Of others
# the version counts, which all say with `--version`.
set -u
export LC_ALL=C
unset MAKEFLAGS # GCC would explain it too.

names() {
  scratch=$(mktemp -d) || exit 5
  trap 'rm -rf "$scratch"' EXIT
  awk -v scratch="$scratch" '
    function quoted(word) { gsub(/\047/, "\047\\\047\047", word); return "\047" word "\047" }
    function first_line(command, line) { command | getline line; close(command); return line }

    # A command without what means the same by every compiler of its version, whose words are in the key as they are: one
    # question is enough for most units.
    function asked(command, word, count, i, kept) {
      count = split(command, word, " ")
      for (i = 1; i <= count; ++i) {
        if (word[i] == "-x" || word[i] == "-include-pch") ++i
        else if (word[i] !~ /^-([DIU].+|[OW].*|E?|dD|std=.*|pthread|f(no-)?(exceptions|openmp|(function|data)-sections))$/)
          kept = kept " " word[i]
      }
      return kept
    }

    # What a compiler would run, without names that differ from call to call and from folder to folder, and sorted, because
    # nvcc with several threads says it in any order: that says what `native` is, and mostly the version of the compiler.
    function identity(command, is_nvcc, explained) {
      if (!is_nvcc) command = asked(command)
      if (command in known) return known[command]
      explained = is_nvcc ? " --dryrun -x cu -c -o /dev/null /dev/null 2>&1 | grep -v \"^#. [A-Z_]*=\"" \
                                   : " -### -x c++ -S -o /dev/null /dev/null 2>&1"
      return known[command] = first_line("explained=$(" command explained "); printf \"%s\\n\" \"$explained\" |" \
                                         " sed \"s/tmpxft[^[:space:]]*//g; s/-f[a-z]*-compilation-dir=[^[:space:]]*//g\" |" \
                                         " { cat; case $explained in *\" version \"*) ;; *) " command " --version 2>&1 ;;" \
                                         " esac; } | sort | sha256sum")
    }

    # Headers of libraries: those in <…> with an extension, other than those of the system and the compiler.
    function is_of_library(header) {
      return header ~ /\.h/ && header !~ /^(sys|netinet|arpa)\// &&
             header !~ /^(dirent|errno|fcntl|glob|immintrin|limits|netdb|omp|poll|sched|signal|stdlib|time|unistd)\.h$/
    }
    function libraries(preprocess, headers, command) {
      command = "printf \"#include <%s>\\n\"" headers " | " preprocess " 2>&1 | sha256sum"
      if (!(command in known)) known[command] = first_line(command)
      return known[command]
    }

    # Reads a file once: what it includes. Returns whether there is such a file.
    function read(file, line, status) {
      if (file in there) return there[file]
      while ((status = getline line < file) > 0) {
        if (line !~ /^[ \t]*#[ \t]*include/) continue
        if (split(line, part, /"/) > 2) included[file] = included[file] " " part[2]
        else if (split(line, part, /[<>]/) > 2 && is_of_library(part[2])) of_library[file] = of_library[file] " " part[2]
      }
      close(file)
      if (status == 0) all = all " " quoted(file)
      return there[file] = status == 0
    }

    # The path of an included file, searched as compilers do; empty where none is found.
    function found(name, includer, folders, path, i, count) {
      path = includer
      sub(/[^\/]*$/, "", path)
      if (read(path name)) return path name
      count = split(folders, folder, " ")
      for (i = 1; i <= count; ++i) {
        path = folder[i] == "." ? name : folder[i] "/" name
        if (read(path)) return path
      }
      return ""
    }

    function folders_of(command, word, i, count, folders) {
      count = split(command, word, " ")
      for (i = 1; i <= count; ++i) if (word[i] ~ /^-I/) folders = folders " " substr(word[i], 3)
      return folders
    }

    # files[unit, 1..files_of[unit]]: the sources of a unit and all that they include.
    function close_over(unit, sources, folders, queue, count, next_one, seen, name, names, path, i) {
      count = split(sources, queue, " ")
      for (next_one = 1; next_one <= count; ++next_one) {
        path = queue[next_one]
        if (seen[path]++ || !read(path)) continue
        files[unit, ++files_of[unit]] = path
        headers[unit] = headers[unit] of_library[path]
        names = split(included[path], name, " ")
        for (i = 1; i <= names; ++i) {
          if ((queue[count + 1] = found(name[i], path, folders)) != "") ++count
          else headers[unit] = headers[unit] " " name[i]
        }
      }
    }

    BEGIN {
      for (i = 1; i < ARGC; i += 4) close_over(i, ARGV[i + 3], folders_of(ARGV[i + 1]))
      command = "sha256sum" all
      while (all != "" && (command | getline line) > 0) sum[substr(line, 67)] = substr(line, 1, 64)
      for (i = 1; i < ARGC; i += 4) {
        text = scratch "/" sprintf("%05d", i)
        print ARGV[i], ARGV[i + 1], identity(ARGV[i + 1], ARGV[i] ~ /[.]cu$/ && ARGV[i + 1] !~ / -x c/), ARGV[i + 3] >text
        if (headers[i] != "") print identity(ARGV[i + 2], 0), libraries(ARGV[i + 2], headers[i]) >text
        for (j = 1; j <= files_of[i]; ++j) print sum[files[i, j]], files[i, j] >text
        close(text)
      }
      # One call for all of them, in the order of their names.
      command = "sha256sum " quoted(scratch) "/*"
      for (i = 1; i < ARGC; i += 4) {
        if ((command | getline line) <= 0) line = ""
        print ARGV[i] "." substr(line, 1, 32)
      }
    }' "$@"
}

cache() {
  [ "${CLEAVE_CACHE-}" != off ] || return 0
  case ${XDG_CACHE_HOME-} in
    /*) folder=$XDG_CACHE_HOME/cleave ;;
    *) case ${HOME-} in /*) folder=$HOME/.cache/cleave ;; *) return 0 ;; esac ;;
  esac
  case $folder in *[!A-Za-z0-9_./+-]*) return 0 ;; esac # `make` has no way to write other names.
  (umask 077 && mkdir -p "$folder/runtime") 2>/dev/null
  # What another user can write could be anybody's code.
  for part in "$folder" "$folder/runtime"; do
    [ ! -L "$part" ] && [ -O "$part" ] && [ -w "$part" ] && [ -z "$(find "$part" -prune -perm /022)" ] || return 0
  done
  echo "$folder"
}

keep() {
  [ ! -e "$3/$2" ] && mkdir -p "$(dirname "$3/$2")" 2>/dev/null && part=$(mktemp "$3/$2.XXXXXX.part" 2>/dev/null) || return 0
  { cp "$1" "$part" && chmod 644 "$part" && mv "$part" "$3/$2"; } 2>/dev/null || rm -f "$part"
}

take() {
  ln "$1" "$2" 2>/dev/null || { cp "$1" "$2.$$.part" && mv "$2.$$.part" "$2"; } 2>/dev/null || { rm -f "$2.$$.part"; return 1; }
}

used() {
  folder=$1
  shift
  touch -c "$@" 2>/dev/null
  find "$folder/runtime" -type f \( -mtime +30 -o -name '*.part' -mtime +0 \) -exec rm -f {} + 2>/dev/null
}

sources() {
  for tree in runtime custom; do [ ! -d $tree ] || find $tree -type f; done |
    { ls Makefile ./*.c[cu] ranks_*/*.c[cu]; sort; } 2>/dev/null | tr '\n' '\0' | xargs -0 sha256sum | sha256sum | cut -c1-32
}

case $1 in
  names | cache | keep | take | used | sources) "$@" ;;
  *) exit 2 ;;
esac
