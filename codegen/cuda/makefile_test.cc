// Tests that the Makefile of programs for GPUs builds small trees of sources. A script in the place of nvcc notes its
// arguments and compiles with g++.
#include "codegen/cuda/makefile.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/fixtures/workspace.h"
#include "codegen/runtime_files/runtime_files.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

constexpr char kNvcc[] = R"sh(#!/bin/sh
if [ "$1" = --list-gpu-arch ]; then
  printf 'compute_80\ncompute_90\ncompute_100\n'
  exit
fi
case " $* " in *" --dryrun "* | *" --version "*) exit ;; esac
echo "$*" >>asked
skip=
for word; do
  shift
  if [ -n "$skip" ]; then
    skip=
    continue
  fi
  case $word in
    -gencode | --threads | -Xcompiler) skip=yes ;;
    -lineinfo | -arch=*) ;;
    *.cu) set -- "$@" -x c++ "$word" ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec g++ "$@"
)sh";

// A program of three folders; the folder for NCCL needs the header of NCCL. Those of the starter are made up. A fourth
// folder is empty.
std::string Tree(const std::string& name) {
  const std::string folder = FreshFolder(name);
  WriteText(folder + "/Makefile",
            CudaMakefile({.folders = {"runtime/kernels", "runtime/host", "runtime/comm/nccl", "runtime/math/cudnn"}}));
  WriteText(folder + "/nvcc", kNvcc, /*executable=*/true);
  WriteText(folder + "/program.cu", "#include \"runtime/sum.h\"\nint main() { return One() + Two() + Host() - 6; }\n");
  WriteText(folder + "/runtime/sum.h", "int One();\nint Two();\nint Host();\n");
  WriteText(folder + "/runtime/kernels/one.cu", "int One() { return 1; }\n");
  WriteText(folder + "/runtime/kernels/two.cu", "int Two() { return 2; }\n");
  WriteText(folder + "/runtime/host/host.cc", "int Host() { return 3; }\n");
  WriteText(folder + "/runtime/comm/nccl/nccl.cu", "#include <nccl.h>\nint Version() { return NCCL_MAJOR; }\n");
  for (const std::string name : {"rendezvous", "placement", "file", "lock", "trace", "error"}) {
    WriteText(absl::StrCat(folder, "/runtime/", name, "/", name, ".cc"), "");
  }
  for (const std::string name : {"starter", "scheduler"}) {
    WriteText(absl::StrCat(folder, "/runtime/", name, "/", name, ".cc"), "int main() {}\n");
  }
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (absl::EndsWith(file.path, ".sh")) WriteText(absl::StrCat(folder, "/", file.path), std::string(file.text));
  }
  WriteText(folder + "/nccl/include/nccl.h", "#define NCCL_MAJOR 2\n");
  WriteText(folder + "/asked", "");
  return folder;
}

CommandOutput Make(const std::string& folder, const std::string& arguments) {
  return RunShell(folder,
                  absl::StrCat("CLEAVE_CACHE=off make NVCC=./nvcc CUDA_HOME=/nonexistent CUDA_LIBS= ", arguments));
}

TEST(CudaMakefile, BuildsForTheArchitecturesAskedFor) {
  const std::string folder = Tree("architectures");
  const CommandOutput built = Make(folder, "COMM=local ARCHS='80 90'");
  ASSERT_EQ(built.exit_code, 0) << built.text;
  EXPECT_EQ(RunShell(folder, "./program_local").exit_code, 0);
  const std::string asked = ReadText(folder + "/asked");
  EXPECT_TRUE(absl::StrContains(asked,
                                "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 "
                                "-gencode arch=compute_90,code=compute_90"))
      << asked;
  EXPECT_FALSE(absl::StrContains(asked, "nccl")) << asked;
}

TEST(CudaMakefile, CompilesAgainForOtherArchitecturesOnly) {
  const std::string folder = Tree("again");
  ASSERT_EQ(Make(folder, "COMM=local ARCHS=80").exit_code, 0);
  const std::string once = ReadText(folder + "/asked");
  ASSERT_EQ(Make(folder, "COMM=local ARCHS=80").exit_code, 0);
  EXPECT_EQ(ReadText(folder + "/asked"), once);
  ASSERT_EQ(Make(folder, "COMM=local ARCHS=native").exit_code, 0);
  const std::string asked = ReadText(folder + "/asked").substr(once.size());
  EXPECT_TRUE(absl::StrContains(asked, "-arch=native") && absl::StrContains(asked, "program.cu") &&
              absl::StrContains(asked, "runtime/kernels.cu"))
      << asked;
}

TEST(CudaMakefile, SharesObjectsBetweenWaysToConnect) {
  const std::string folder = Tree("shared");
  ASSERT_EQ(Make(folder, "COMM=local ARCHS=80").exit_code, 0);
  const size_t before = ReadText(folder + "/asked").size();
  const CommandOutput built = Make(folder, "COMM=mpi MPICXX=g++ ARCHS=80 NCCL_HOME=nccl");
  ASSERT_EQ(built.exit_code, 0) << built.text;
  const std::string asked = ReadText(folder + "/asked").substr(before);
  EXPECT_TRUE(absl::StrContains(asked, "runtime/comm/nccl.cu")) << asked;
  EXPECT_FALSE(absl::StrContains(asked, "program.cu") || absl::StrContains(asked, "runtime/kernels.cu")) << asked;
  EXPECT_FALSE(absl::StrContains(built.text, "runtime/host/host.cc")) << built.text;
}

TEST(CudaMakefile, BuildsAgainstAStandInWithoutNvcc) {
  const std::string folder = Tree("stand_in");
  WriteText(folder + "/program.cu",
            "#include <cuda_runtime.h>\n#include \"runtime/sum.h\"\n"
            "__global__ void Kernel() {}\nint main() { return One() + Two() + Host() - 6 + Devices(); }\n");
  WriteText(folder + "/some/stand_in/include/cuda_runtime.h", "#define __global__\nint Devices();\n");
  WriteText(folder + "/some/stand_in/devices.cc", "#include \"devices.h\"\nint Devices() { return 0; }\n");
  WriteText(folder + "/some/stand_in/devices.h", "int Devices();\n");
  const CommandOutput built = RunShell(folder, "make COMM=local NVCC=no_such_nvcc STAND_IN=some/stand_in");
  ASSERT_EQ(built.exit_code, 0) << built.text;
  EXPECT_EQ(RunShell(folder, "./program_local").exit_code, 0);
  EXPECT_EQ(ReadText(folder + "/asked"), "");
}

TEST(CudaMakefile, CompilesAttentionWithWhatPipHasInstalled) {
  const std::string folder = Tree("attention");
  WriteText(folder + "/program.cu", "int ByLibrary();\nint main() { return ByLibrary(); }\n");
  WriteText(folder + "/runtime/math/cudnn/sdpa.cc",
            "#if __has_include(<cudnn_frontend.h>)\n#include <cudnn_frontend.h>\n#include <cudnn.h>\n"
            "int ByLibrary() try { return Throws(); } catch (...) { return 7; }\n#else\nint ByLibrary() { return 0; }\n"
            "#endif\n");
  const std::string make = "COMM=local ARCHS=80";
  const CommandOutput without = Make(folder, make + " PIP=");  // What this machine has installed is not looked for.
  ASSERT_EQ(without.exit_code, 0) << without.text;
  EXPECT_TRUE(
      absl::StrContains(without.text, "cudnn-frontend is not there: convolutions, and attention in bf16 and f16"))
      << without.text;
  EXPECT_EQ(RunShell(folder, "./program_local").exit_code, 0);
  WriteText(folder + "/packages/nvidia/cudnn/include/cudnn.h", "");
  WriteText(folder + "/packages/include/cudnn_frontend_version.h", "");
  WriteText(folder + "/packages/include/cudnn_frontend.h", "inline int Throws() { throw 1; }\n");
  const CommandOutput with = RunShell(folder, absl::StrCat("PYTHONPATH=$PWD/packages CLEAVE_CACHE=off make NVCC=./nvcc "
                                                           "CUDA_HOME=/nonexistent CUDA_LIBS= ",
                                                           make));
  ASSERT_EQ(with.exit_code, 0) << with.text;
  EXPECT_FALSE(absl::StrContains(with.text, "is not there")) << with.text;
  EXPECT_EQ(RunShell(folder, "./program_local").exit_code, 7);
}

TEST(CudaMakefile, SaysWhatIsNotThere) {
  const std::string folder = Tree("lacking");
  const auto said = [&](const std::string& arguments) {
    const CommandOutput output = Make(folder, arguments);
    EXPECT_NE(output.exit_code, 0) << arguments;
    return output.text;
  };
  EXPECT_TRUE(absl::StrContains(said("NVCC=no_such_nvcc"), "nvcc is not there: install the CUDA toolkit"));
  EXPECT_TRUE(absl::StrContains(said("ARCHS='80 91'"), "does not know the architectures 91: name others"));
  const std::string no_mpi = said("MPICXX=no_such_mpicxx");
  EXPECT_TRUE(absl::StrContains(no_mpi, "install MPI for C++") && absl::StrContains(no_mpi, "`make COMM=local`"));
  const std::string no_nccl = said("CXX='g++ -nostdinc' NCCL_HOME=/nonexistent");
  EXPECT_TRUE(absl::StrContains(no_nccl, "NCCL is not there: install it") &&
              absl::StrContains(no_nccl, "`make COMM=local`"))
      << no_nccl;
  EXPECT_TRUE(absl::StrContains(said("COMM=smoke"), "COMM is `smoke`, and must be mpi, nccl or local"));
}

}  // namespace
}  // namespace cleave::codegen
