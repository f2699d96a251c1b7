#include "codegen/source/run_script.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace cleave::codegen {
namespace {

constexpr char kRunScript[] = R"sh(#!/bin/sh
# Starts the program on @RANKS@, in this folder:
#
#   ./run.sh [--restarts N] [--hosts FILE] [--launch mpirun | rank-table FILE | dynamic | local] [flags of the program]
#
# mpirun starts processes that MPI connects; with rank-table and dynamic they meet by themselves; with local the ranks are
# threads of one process. Without --launch: the first of mpirun, dynamic and local for which this machine has what it needs.
#
# Where the environment says that this is one rank of a job (RANK_TABLE_FILE and RANK_ID, RANK and WORLD_SIZE, or SLURM_PROCID),
# without --launch that rank alone is started. Every rank's output goes into log_output/1/rank.N/stdout and stderr, and that of
# rank 0 and all errors are shown, too.
# --restarts N: a job that has lost a process, or could not write, goes on from its last checkpoint; it is given up after N
# restarts without a new one. --hosts FILE: the hosts that may be there, a line each, as `node1 slots=4`: before each start
# those that answer are counted, and the job takes as many ranks as fit, of those for which there is a program.
# The exit code is that of the first rank that failed; 128 + its number where a signal has ended this script.
ranks=@COUNT@
also='@ALSO@'
folder=
launch=@LAUNCH@
table=@TABLE@
here=
restarts=0
hosts=

fail() {
  echo "run.sh: $2" >&2
  exit "$1"
}
usage="use ./run.sh [--restarts N] [--hosts FILE] [--launch mpirun | rank-table FILE | dynamic | local] [flags of the program]"

while :; do
  case ${1-} in
    --restarts)
      restarts=${2-}
      case $restarts in '' | 0* | *[!0-9]* | ??????*) fail 2 "--restarts takes a number of 1 to 99999: $usage" ;; esac
      ;;
    --hosts)
      hosts=${2-}
      case $hosts in '') fail 2 "--hosts takes a file: $usage" ;; /*) ;; *) hosts=$PWD/$hosts ;; esac
      ;;
    --launch=* | --restarts* | --hosts*) fail 2 "$usage" ;;
    *) break ;;
  esac
  shift 2
done
if [ "${1-}" = --launch ]; then
  launch=${2:-none}
  [ "$launch" != rank-table ] || { table=${3-} && [ -n "$table" ] && shift; } || fail 2 "$usage"
  shift 2 2>/dev/null || fail 2 "$usage"
elif [ -n "${RANK_ID-}${SLURM_PROCID-}" ] || { [ -n "${RANK-}" ] && [ -n "${WORLD_SIZE-}" ]; }; then
  launch=this-rank
elif [ -n "${RANK_TABLE_FILE-}" ]; then
  launch=rank-table table=$RANK_TABLE_FILE
fi
case $table in '' | /*) ;; *) table=$PWD/$table ;; esac
case $0 in */*) cd "${0%/*}" || exit 5 ;; esac
[ ! -e .cleave_next ] || fail 5 "a compile was stopped while it wrote this folder: compile the model again"
if [ -z "$launch" ]; then
  if command -v mpirun >/dev/null 2>&1; then
    launch=mpirun
  elif [ -x program_@MEET@ ] || make -n COMM=@MEET@ >/dev/null 2>&1; then
    launch=dynamic
  else
    launch=local
  fi
fi

# The program for so many ranks alone is started, if there is one.
take() {
  [ -n "$1" ] || return 0
  case " $also " in *" $1 "*) ranks=$1 also= folder=ranks_$1/ ;; esac
}

# The paths of the program of that name: for each number of ranks, as "program ranks_4/program".
paths() {
  echo "$folder$1"
  for number in $also; do echo "ranks_$number/$1"; done
}

# Whether all these programs were made from the sources that lie here, if any do.
are_built() {
  sources=
  [ ! -e program.cc ] && [ ! -e program.cu ] || sources=$(sh runtime/objects/objects.sh sources)
  for name; do
    [ -x "$name" ] || return 1
    [ -z "$sources" ] || case $(cat "build/$name.made_from" 2>/dev/null) in "$sources "*) ;; *) return 1 ;; esac
  done
}

# Whether the C++ body of an op does not compile, or names what no library has, as the first error of `make` says.
is_body_wrong() {
  ! grep -qE '^custom/[^ ]+: (((fatal|catastrophic) )?error|note)' make.log || return 0
  missing=$(sed -n 's/.*undefined reference to [^A-Za-z_]*\([A-Za-z0-9_:]*\).*/\1/p' make.log | head -n 1)
  [ -n "$missing" ] && grep -rqE "(^|[^A-Za-z0-9_])${missing##*:}[(]" custom 2>/dev/null
}

# Builds what is not there, or was made from other sources: build COMM PROGRAM…. A signal ends the compiler too.
build() {
  comm=$1
  shift
  ! are_built "$@" || return 0
  command -v make >/dev/null 2>&1 || fail 5 "$1 is not built from the sources in this folder, and make is not there"
  LC_ALL=C make COMM="$comm" 2>make.log &
  for signal in 1 2 15; do trap "kill $! 2>/dev/null; exit $((128 + signal))" "$signal"; done
  wait "$!"
  built=$?
  cat make.log >&2
  [ "$built" != 0 ] || return 0
  ! is_body_wrong || fail 3 "the C++ body of an op does not compile"
  fail 5 "the program could not be built"
}

# Under mpirun and behind a pipe a program cannot see that a terminal is there.
if [ -t 1 ]; then
  columns=$(stty size <&1 2>/dev/null)
  export CLEAVE_PROGRESS=1 CLEAVE_COLUMNS="${columns#* }"
fi

# What each rank runs under mpirun: pipes to two tee, which end when it has ended. Of ranks that are not asked for, output
# goes into the log alone.
copied='
  logs=log_output/1/rank.$OMPI_COMM_WORLD_RANK
  mkdir -p "$logs" && pipes=$(mktemp -d) && mkfifo "$pipes/stdout" "$pipes/stderr" || exit 5
  case "$OMPI_COMM_WORLD_RANK $* " in 0\ * | *" --log-ranks all "* | *" --log-ranks=all "*) ;; *) exec >/dev/null ;; esac
  (trap "" 1 2 15; exec tee "$logs/stdout" <"$pipes/stdout") &
  (trap "" 1 2 15; exec tee "$logs/stderr" <"$pipes/stderr" >&2) &
  exec >"$pipes/stdout" 2>"$pipes/stderr"
  rm -r "$pipes"
  export CLEAVE_RANK_LOGS=1
  exec "$@"'

case $hosts$launch in
  /*this-rank | /*rank-table) fail 2 "--hosts is for jobs whose ranks one run.sh starts" ;;
  /*dynamic) [ -z "${CLEAVE_SCHEDULER-}" ] || fail 2 "--hosts is for jobs whose ranks one run.sh starts" ;;
esac

# From here on ./starter ends all processes that it starts, when it gets a signal and when it is killed.
case $launch in
  mpirun)
    command -v mpirun >/dev/null 2>&1 || fail 5 "mpirun is not there: install MPI (Debian: openmpi-bin)"
    program=program
    build mpi $(paths program) starter
    # Ranks share the cores. They are not bound: a bound rank would keep its threads on one core.
    # On one host ranks meet in shared memory: to look for the networks of a cluster takes a fifth of a second.
    [ -n "$hosts${SLURM_JOB_ID-}${PBS_JOBID-}${LSB_JOBID-}${PE_HOSTFILE-}${OMPI_MCA_orte_default_hostfile-}" ] ||
      export OMPI_MCA_pml="${OMPI_MCA_pml:-ob1}" OMPI_MCA_btl="${OMPI_MCA_btl:-^openib,ofi,uct}"
    # Root may start it, as containers do.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # A shell that becomes the rank has copied what it prints: versions of Open MPI name such files in different ways.
    set -- sh -c "$copied" sh {program} "$@"
    set -- mpirun ${hosts:+--hostfile log_output/hosts} -n {ranks} --bind-to none --oversubscribe "$@"
    ;;
  this-rank)
    [ -z "${RANK_ID-}" ] || [ -z "$also" ] || take "$(./scheduler size "${RANK_TABLE_FILE-}")"
    [ -n "${RANK_ID-}" ] || take "${WORLD_SIZE:-${SLURM_NTASKS-}}"
    program=program_@MEET@
    are_built $(paths program_@MEET@) starter || fail 5 "program_@MEET@ is not built from the sources in this folder: make COMM=@MEET@"
    set -- {program} "$@"
    ;;
  rank-table | dynamic)
    program=program_@MEET@
    build @MEET@ $(paths program_@MEET@) starter scheduler
    if [ "$launch" = rank-table ]; then
      here=$(./scheduler ranks "$table") || exit $?
      take "$(./scheduler size "$table")"
    elif [ -n "${CLEAVE_SCHEDULER-}" ]; then
      take "${CLEAVE_WORKERS-}"
    fi
    set -- {program} "$@"
    ;;
  local)
    program=program_local
    build local $(paths program_local) starter
    set -- {program} "$@"
    ;;
  *)
    fail 2 "$usage"
    ;;
esac
programs=$ranks:./$folder$program
for number in $also; do programs="$programs $number:./ranks_$number/$program"; done
exec ./starter "$restarts" "$launch" "$programs" "$hosts" "$table" "$here" "$@"
)sh";

// A word of the shell.
std::string Quoted(const std::string& text) {
  return text.empty() ? "" : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace

std::string RunScript(const std::vector<int>& ranks, absl::string_view meeting_comm, const LaunchDefault& launch) {
  std::string all = ranks[0] == 1 ? "one rank" : absl::StrCat(ranks[0], " ranks");
  for (size_t i = 1; i < ranks.size(); ++i) {
    absl::StrAppend(&all, i == 1 ? ", or where there is no room for these on " : " or ", ranks[i]);
  }
  return absl::StrReplaceAll(kRunScript, {{"@RANKS@", all},
                                          {"@COUNT@", absl::StrCat(ranks[0])},
                                          {"@ALSO@", absl::StrJoin(ranks.begin() + 1, ranks.end(), " ")},
                                          {"@MEET@", std::string(meeting_comm)},
                                          {"@LAUNCH@", launch.way},
                                          {"@TABLE@", Quoted(launch.rank_table)}});
}

}  // namespace cleave::codegen
