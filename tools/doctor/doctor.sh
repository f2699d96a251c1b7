#!/bin/sh
# Says what this machine has of what generated programs need, and how to install the rest:
#
#   doctor.sh cpu | cuda
#
# Each library is looked for as the Makefile of a program looks for it: by the compiler, and where pip puts it. The exit
# code is 0 where programs for that target can be built and started in some way, and 5 where they cannot.
target=${1:-cpu}
CXX=${CXX:-g++}
work=$(mktemp -d) || exit 5
trap 'rm -rf "$work"' EXIT
missing=    # What no program for the target can do without.
packages=   # What would help, by Debian's names.
from_pip=   # The same of pip.

line() { printf '%-8s %-14s %s\n' "$1" "$2" "$3"; }
there() { line ok "$1" "$2"; }
# lacks NAME WHAT-FOR [PACKAGES]: nothing needs it unless `needs` says so.
lacks() {
  line missing "$1" "$2"
  packages="$packages${3:+ $3}"
}
needs() {
  lacks "$@"
  missing="$missing${missing:+, }$1"
}
has() { command -v "$1" >/dev/null 2>&1; }
first_line() { "$@" 2>/dev/null </dev/null | head -n 1; }

# compiles HEADER FLAGS…: whether the compiler finds the header, and links with the flags.
compiles() {
  header=$1
  shift
  printf '#include <%s>\nint main() {}\n' "$header" >"$work/a.cc"
  "$CXX" -std=c++17 "$@" -o "$work/a" "$work/a.cc" >/dev/null 2>&1 ||
    { [ "$#" -gt 0 ] && "$CXX" -std=c++17 -o "$work/a" "$work/a.cc" "$@" >/dev/null 2>&1; }
}

# pip_home HEADER FOLDER: where pip has put a library, as "/…/nvidia/nccl".
pip_home() {
  python3 -c 'import sys; print("\n".join(sys.path[1:]))' 2>/dev/null | while read -r path; do
    [ ! -e "$path/$2/include/$1" ] || { echo "$path/$2" && break; }
  done
}

# gib KIB: "12.3 GiB"
gib() { awk -v kib="$1" 'BEGIN { printf "%.1f GiB", kib / 1048576 }'; }

echo "To build:"
if has "$CXX" && printf 'int main() {}\n' | "$CXX" -std=c++17 -fopenmp -x c++ - -o "$work/a" 2>/dev/null; then
  there compiler "$(first_line "$CXX" --version)"
else
  needs compiler "a C++17 compiler with OpenMP, \`$CXX\` (CXX=…)" g++
fi
if has make; then there make "$(first_line make --version)"; else needs make "builds programs" make; fi
# onednn_version: "oneDNN 2.6.3", from its header.
onednn_version() {
  for header in oneapi/dnnl/dnnl_version.h dnnl_version.h; do
    printf '#include <%s>\nVERSION DNNL_VERSION_MAJOR.DNNL_VERSION_MINOR.DNNL_VERSION_PATCH\n' "$header" >"$work/version.cc"
    "$CXX" -E -P "$work/version.cc" 2>/dev/null | sed -n "s/ //g; s/^VERSION/version /p" | grep . && return
  done
}

if compiles oneapi/dnnl/dnnl.h -ldnnl || compiles dnnl.h -ldnnl; then
  there oneDNN "products and convolutions on CPUs, $(onednn_version)"
elif [ "$target" = cpu ]; then
  needs oneDNN "products and convolutions on CPUs" libdnnl-dev
else
  lacks oneDNN "products and convolutions on CPUs"
fi

echo "To start ranks:"
ways=local
if ! has mpirun; then
  lacks MPI "./run.sh --launch mpirun, on one host or many" "libopenmpi-dev openmpi-bin"
elif ! has "${MPICXX:-mpicxx}"; then
  lacks MPI "mpirun is there, and ${MPICXX:-mpicxx} is not: programs for it cannot be built" libopenmpi-dev
else
  there MPI "$(first_line mpirun --version)"
  ways="mpirun, $ways"
fi
if compiles gloo/config.h -lgloo; then
  there Gloo "on CPUs: --launch rank-table and dynamic, Slurm, torchrun's variables"
  ways="rank-table, dynamic, $ways"
else
  lacks Gloo "on CPUs: --launch rank-table and dynamic, Slurm, torchrun's variables" libgloo-dev
fi

if [ "$target" = cuda ]; then
  echo "For GPUs:"
  for home in "${CUDA_HOME:-}" /usr/local/cuda /usr; do
    [ -n "$home" ] && [ -x "$home/bin/nvcc" ] && CUDA_HOME=$home && break
  done
  nvcc=${NVCC:-${CUDA_HOME:+$CUDA_HOME/bin/nvcc}}
  if [ -n "$nvcc" ] && has "$nvcc"; then
    there nvcc "$("$nvcc" --version 2>/dev/null | sed -n 's/.*release //p')"
    folders=
    for folder in "$CUDA_HOME"/lib64 "$CUDA_HOME"/targets/*/lib; do [ ! -d "$folder" ] || folders="$folders -L$folder"; done
    # shellcheck disable=SC2086
    if compiles cublasLt.h -I"$CUDA_HOME/include" $folders -lcublas -lcublasLt -lcudart; then
      there cuBLAS "products"
    else
      needs cuBLAS "products: a part of the CUDA Toolkit"
    fi
  else
    needs nvcc "the CUDA Toolkit 12 or later (CUDA_HOME=…): https://developer.nvidia.com/cuda-downloads"
  fi
  nccl=${NCCL_HOME:-$(pip_home nccl.h nvidia/nccl)}
  if compiles nccl.h ${nccl:+-I"$nccl/include"} -I"${CUDA_HOME:-/usr}/include"; then
    there NCCL "collectives between GPUs${nccl:+, in $nccl}"
  else
    ways=local
    lacks NCCL "collectives between GPUs; ranks that share one GPU do without (COMM=local)"
    from_pip="$from_pip nvidia-nccl-cu13"
  fi
  cudnn=${CUDNN_HOME:-$(pip_home cudnn.h nvidia/cudnn)}
  front=${CUDNN_FRONTEND_HOME:-$(pip_home cudnn_frontend_version.h .)}
  if compiles cudnn.h ${cudnn:+-I"$cudnn/include"} -I"${CUDA_HOME:-/usr}/include" &&
    compiles cudnn_frontend_version.h ${front:+-I"$front/include"}; then
    there cuDNN "attention in 16 bits, convolutions${cudnn:+, in $cudnn}"
  else
    lacks cuDNN "with cudnn-frontend: attention in 16 bits, convolutions; kernels of the program take longer"
    from_pip="$from_pip nvidia-cudnn-cu13 nvidia-cudnn-frontend"
  fi
  if gpus=$(nvidia-smi --query-gpu=name,memory.total,compute_cap,driver_version --format=csv,noheader 2>/dev/null); then
    echo "$gpus" | while read -r gpu; do there GPU "$gpu"; done
  else
    lacks GPU "no driver answers (nvidia-smi): programs can be built here, and not run"
  fi
fi

echo "This machine:"
there cores "$(nproc 2>/dev/null || echo '?'), $(gib "$(awk '/MemTotal/ { print $2 }' /proc/meminfo)") of memory"
shared=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${shared:-0}" -ge 262144 ]; then
  there /dev/shm "$(gib "$shared") free"
else
  line low /dev/shm "$(gib "${shared:-0}") free: ranks of one host under mpirun meet there; Docker: --shm-size=1g"
fi
# shellcheck disable=SC3045  # Shells that lack it say nothing.
files=$(ulimit -n 2>/dev/null || echo unlimited)
if [ "$files" = unlimited ] || [ "$files" -ge 1024 ]; then
  there "open files" "$files for each process (ulimit -n)"
else
  line low "open files" "only $files for each process; each rank connects to the others: ulimit -n 4096"
fi
# shellcheck disable=SC3045
locked=$(ulimit -l 2>/dev/null || echo '?')
if [ "$locked" = unlimited ] || [ "$target" = cpu ]; then
  there "locked memory" "$locked KiB (ulimit -l)"
else
  line low "locked memory" "$locked KiB (ulimit -l): NCCL over InfiniBand needs it unlimited"
fi

echo
if [ -z "$missing" ]; then
  echo "Programs for $([ "$target" = cpu ] && echo CPUs || echo GPUs) can be built here, and started by: $ways."
else
  echo "Programs for $([ "$target" = cpu ] && echo CPUs || echo GPUs) cannot be built here, without: $missing."
fi
[ -z "$packages$from_pip" ] || echo "To install what is missing:"
if has apt-get; then how="apt-get install"; else how="what Debian calls"; fi
[ -z "$packages" ] || echo "  $how$packages"
[ -z "$from_pip" ] || echo "  pip install$from_pip"
[ -z "$missing" ] || exit 5
