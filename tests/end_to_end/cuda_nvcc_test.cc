// nvcc compiles and links programs for GPUs. On a machine without a GPU they say so and end with 5.
#include <unistd.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

class CudaNvcc : public testing::Test {
 protected:
  void SetUp() override {
    if (RunCommand({"sh", "-c", "command -v nvcc"}).exit_code != 0 && !IsThere("/usr/local/cuda/bin/nvcc")) {
      GTEST_SKIP() << "no nvcc on this machine";
    }
  }

  // All programs are built in one folder, so they share the objects of the runtime.
  static std::string Folder() {
    static const std::string folder = FreshFolder("cuda_nvcc") + "/out";
    return folder;
  }

  // `model`: an absolute path, or one in the tree.
  static void Build(const std::string& model, int devices, std::vector<std::string> make_arguments) {
    const CommandResult compiled = Compile({model[0] == '/' ? model : DataPath(model), "--target", "cuda", "--devices",
                                            std::to_string(devices), "--out", Folder(), "--quiet"},
                                           "");
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    make_arguments.push_back("ARCHS=90");
    const CommandResult built = MakeByGcc(Folder(), make_arguments);
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }

  // A program that finds no GPU says so and ends.
  static void ExpectNoGpu(const std::vector<std::string>& command) {
    std::vector<std::string> limited = {"timeout", "60"};
    limited.insert(limited.end(), command.begin(), command.end());
    const CommandResult ran =
        RunCommand(limited, Folder(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
    EXPECT_EQ(ran.exit_code, 5) << ran.out << ran.err;
    EXPECT_NE(ran.err.find("GPU"), std::string::npos) << ran.err;
  }
};

TEST_F(CudaNvcc, BuildsTheExamplesWhichSayThatThereIsNoGpu) {
  const bool has_gpu = IsThere("/dev/nvidia0");
  // Optimizing takes most of the time: only the last program has the flags of its Makefile.
  const std::string fast = "NVCCFLAGS=-O1 -Xcicc -O1 -Xptxas -O1 -std=c++17 -Xcompiler -fopenmp";
  Build("examples/tiny_gpt/tiny_gpt.model", 2, {"COMM=mpi", fast});
  if (HasFatalFailure()) return;
  if (!has_gpu) ExpectNoGpu({"mpirun", "-n", "2", "--oversubscribe", "./program"});
  // Convolutions, and a layer that waits on the host.
  std::string text = ReadText(DataPath("examples/mnist_cnn/mnist_cnn.model"));
  const size_t layer = text.find("let ");
  ASSERT_NE(layer, std::string::npos);
  const std::string offloaded = FreshFolder("cuda_nvcc_offload") + "/mnist_cnn.model";
  WriteText(offloaded, text.insert(layer, "#[offload] "));
  Build(offloaded, 1, {"COMM=local"});
  if (!HasFatalFailure() && !has_gpu) ExpectNoGpu({"./program_local"});
}

}  // namespace
}  // namespace cleave::tests
