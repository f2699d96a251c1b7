// nvcc compiles and links programs for GPUs. On a machine without a GPU they say so and end with 5.
#include <unistd.h>

#include <chrono>
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

  static void Build(const std::string& model, int devices, const std::string& comm) {
    const CommandResult compiled = Compile(
        {DataPath(model), "--target", "cuda", "--devices", std::to_string(devices), "--out", Folder(), "--quiet"}, "");
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    const CommandResult built = RunCommand({"make", "ARCHS=90", "COMM=" + comm}, Folder());
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }

  // The message of a program that finds no GPU, and how fast it comes.
  static void ExpectNoGpu(const std::vector<std::string>& command) {
    const auto start = std::chrono::steady_clock::now();
    const CommandResult ran =
        RunCommand(command, Folder(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(ran.exit_code, 5) << ran.out << ran.err;
    EXPECT_NE(ran.err.find("GPU"), std::string::npos) << ran.err;
    EXPECT_LT(taken.count(), 5) << "seconds";
  }
};

TEST_F(CudaNvcc, BuildsTheExamplesWhichSayThatThereIsNoGpu) {
  const bool has_gpu = IsThere("/dev/nvidia0");
  for (const std::string model : {"examples/tiny_gpt/tiny_gpt.model", "examples/mnist_cnn/mnist_cnn.model",
                                  "examples/mnist_mlp/mnist_mlp.model"}) {
    SCOPED_TRACE(model);
    Build(model, 2, "mpi");
    if (HasFatalFailure()) return;
    if (!has_gpu) ExpectNoGpu({"mpirun", "-n", "2", "--oversubscribe", "./program"});
  }
  Build("examples/mnist_mlp/mnist_mlp.model", 1, "local");
  if (!HasFatalFailure() && !has_gpu) ExpectNoGpu({"./program_local"});
}

}  // namespace
}  // namespace cleave::tests
