// Whole programs for GPUs, compiled for the CPU against tests/stand_in: they train with the losses of the CPU target,
// on any number of ranks.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr size_t kSteps = 12;

// Every rank draws all digits.
constexpr char kData[] = "data=digits(train = 256, test = 16)";

struct Example {
  std::string model;
  std::vector<std::string> smaller;  // `--set` options that make its tensors small.
};

// All programs of a target are built in one folder, so they share the objects of the runtime.
std::string FolderOf(const std::string& target) {
  static const std::string folder = FreshFolder("cuda_stand_in");
  return folder + "/" + target;
}

void Build(const Example& example, const std::string& target, const std::string& comm, int devices) {
  std::vector<std::string> arguments = {DataPath(example.model), "--target", target,           "--devices",
                                        std::to_string(devices), "--out",    FolderOf(target), "--quiet"};
  for (const std::string& setting : example.smaller) arguments.insert(arguments.end(), {"--set", setting});
  const CommandResult compiled = Compile(arguments, "");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const CommandResult built =
      target == "cuda" ? MakeWithStandIn(FolderOf(target), {"COMM=" + comm}) : Make(FolderOf(target), {"COMM=" + comm});
  ASSERT_EQ(built.exit_code, 0) << built.err;
}

std::vector<double> LossesOf(const Example& example, const std::string& target, int devices) {
  Build(example, target, "local", devices);
  if (testing::Test::HasFatalFailure()) return {};
  const CommandResult ran = RunCommand({"./run.sh", "--launch", "local", "--steps", std::to_string(kSteps), "--quiet"},
                                       FolderOf(target), {"OMP_NUM_THREADS=1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  return ran.exit_code == 0 ? Losses(FolderOf(target)) : std::vector<double>();
}

class CudaStandIn : public testing::TestWithParam<Example> {};

TEST_P(CudaStandIn, TrainsAsTheCpuDoes) {
  const std::vector<double> expected = LossesOf(GetParam(), "cpu", 1);
  ASSERT_EQ(expected.size(), kSteps);
  for (const int devices : {1, 2, 4, 8}) {
    const std::vector<double> losses = LossesOf(GetParam(), "cuda", devices);
    EXPECT_LE(LargestRelativeDifference(losses, expected), 1e-4) << devices << " ranks";
  }
}

// NCCL cannot connect two processes on one GPU.
TEST(CudaStandInMpi, RefusesTwoRanksOnOneGpu) {
  Build({"examples/mnist_mlp/mnist_mlp.model", {"batch=16"}}, "cuda", "mpi", 2);
  if (HasFatalFailure()) return;
  const CommandResult ran =
      RunCommand({"./run.sh", "--launch", "mpirun", "--quiet"}, FolderOf("cuda"), {"CUDA_STAND_IN_DEVICES=1"});
  EXPECT_EQ(ran.exit_code, 5) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("a rank needs a GPU of its own"), std::string::npos) << ran.err;
}

// One rank under a launcher has no other rank to connect to.
TEST(CudaStandInMpi, RunsOneRank) {
  Build({"examples/mnist_mlp/mnist_mlp.model", {"batch=16", kData}}, "cuda", "mpi", 1);
  if (HasFatalFailure()) return;
  const CommandResult ran = RunCommand({"./run.sh", "--launch", "mpirun", "--steps", "2", "--quiet"}, FolderOf("cuda"));
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(Losses(FolderOf("cuda")).size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Examples, CudaStandIn,
                         testing::Values(Example{"examples/mnist_mlp/mnist_mlp.model", {"batch=16", kData}},
                                         Example{"examples/mnist_cnn/mnist_cnn.model", {"batch=8", kData}},
                                         Example{"examples/tiny_gpt/tiny_gpt.model",
                                                 {"batch=8", "seq=16", "width=32"}}),
                         [](const auto& info) {
                           const std::string& path = info.param.model;
                           const size_t begin = path.rfind('/') + 1;
                           return path.substr(begin, path.rfind('.') - begin);
                         });

}  // namespace
}  // namespace cleave::tests
