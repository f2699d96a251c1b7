// Whole programs for GPUs, compiled for the CPU against tests/stand_in: they train with the losses of the CPU target,
// on any number of ranks.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

constexpr size_t kSteps = 6;

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

// Arguments of make. Ranks are threads that share a GPU, or each has its own and NCCL connects them: then the phases of
// a step are recorded.
const std::vector<std::string> kShareOne = {"COMM=local"};
const std::vector<std::string> kByNccl = {"COMM=local",
                                          "UNUSED=runtime/comm/local/cuda runtime/comm/meeting% runtime/comm/mpi "
                                          "runtime/placement runtime/rendezvous runtime/scheduler runtime/starter"};

void BuildIn(const std::string& target, const std::vector<std::string>& arguments) {
  const CommandResult built =
      target == "cuda" ? MakeWithStandIn(FolderOf(target), arguments) : Make(FolderOf(target), arguments);
  ASSERT_EQ(built.exit_code, 0) << built.err;
}

void Build(const Example& example, const std::string& target, const std::vector<std::string>& make, int devices) {
  std::vector<std::string> arguments = {example.model[0] == '/' ? example.model : DataPath(example.model),
                                        "--target",
                                        target,
                                        "--devices",
                                        std::to_string(devices),
                                        "--out",
                                        FolderOf(target),
                                        "--quiet"};
  for (const std::string& setting : example.smaller) arguments.insert(arguments.end(), {"--set", setting});
  if (target == "cuda") arguments.insert(arguments.end(), {"--set", "leave_idle=false"});  // They are small.
  const CommandResult compiled = Compile(arguments, "");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  BuildIn(target, make);
}

std::vector<double> Run(const std::string& target) {
  const CommandResult ran = RunCommand({"./run.sh", "--launch", "local", "--steps", std::to_string(kSteps), "--quiet"},
                                       FolderOf(target), {"OMP_NUM_THREADS=1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  return ran.exit_code == 0 ? Losses(FolderOf(target)) : std::vector<double>();
}

// On GPUs each rank has its own.
std::vector<double> LossesOf(const Example& example, const std::string& target, int devices) {
  Build(example, target, target == "cpu" ? kShareOne : kByNccl, devices);
  return testing::Test::HasFatalFailure() ? std::vector<double>() : Run(target);
}

// Of the program that was built last, which gives the same where ranks share a GPU.
void ExpectTheSameOnOneGpu(const std::vector<double>& losses) {
  BuildIn("cuda", kShareOne);
  EXPECT_LE(LargestRelativeDifference(Run("cuda"), losses), 1e-5);
}

// Bytes of the rank that needs most.
struct Memory {
  double predicted = 0;
  double measured = 0;
  double on_host = 0;  // Predicted and allocated.
};

Memory MemoryOf(const std::string& target) {
  Memory memory;
  const Json plan = *ParseStrictJson(ReadText(FolderOf(target) + "/plan.json"));
  memory.predicted = plan["predicted"]["memory_per_rank"]["peak"].get<double>();
  const Json run = *ParseStrictJson(ReadText(FolderOf(target) + "/run.json"));
  for (const Json& rank : run["peak_memory_bytes"]) memory.measured = std::max(memory.measured, rank.get<double>());
  memory.on_host = plan["predicted"]["memory_per_rank"].value("host", 0.0);
  EXPECT_EQ(run.contains("host_memory_bytes"), memory.on_host > 0);
  if (memory.on_host > 0) {
    for (const Json& rank : run["host_memory_bytes"]) EXPECT_EQ(rank.get<double>(), memory.on_host);
  }
  return memory;
}

// Of a step that is replayed, by the nodes of its graphs: what the compiler says of the program that ran last, and what
// rank 0 has launched. The compiler leaves out what packs messages.
void ExpectNodesAsPredicted(const Example& example, int devices) {
  std::vector<std::string> arguments = {DataPath(example.model), "--target",  "cuda", "--devices",
                                        std::to_string(devices), "--explain", "time", "--quiet"};
  for (const std::string& setting : example.smaller) arguments.insert(arguments.end(), {"--set", setting});
  arguments.insert(arguments.end(), {"--set", "leave_idle=false"});
  const CommandResult explained = Compile(arguments, "");
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  const size_t line = explained.out.find("nodes     ");
  ASSERT_NE(line, std::string::npos) << explained.out;
  const size_t kernels = explained.out.find("graphs: ", line);
  const size_t marks = explained.out.find("kernels, ", kernels);
  const Json run = *ParseStrictJson(ReadText(FolderOf("cuda") + "/run.json"));
  const Json& nodes = run["graph_nodes"];
  const double launched = nodes["kernels"].get<double>();
  EXPECT_NEAR(std::stod(explained.out.substr(kernels + 8)), launched, 0.05 * launched) << nodes;
  EXPECT_NE(explained.out.find(nodes["others"].dump() + " marks", marks), std::string::npos) << nodes << explained.out;
}

class CudaStandIn : public testing::TestWithParam<Example> {};

TEST_P(CudaStandIn, TrainsAsTheCpuDoes) {
  const std::vector<double> expected = LossesOf(GetParam(), "cpu", 1);
  ASSERT_EQ(expected.size(), kSteps);
  for (const int devices : {2, 8}) {
    const std::vector<double> losses = LossesOf(GetParam(), "cuda", devices);
    EXPECT_LE(LargestRelativeDifference(losses, expected), 1e-4) << devices << " ranks";
    if (devices == 2) ExpectTheSameOnOneGpu(losses);
  }
}

// Without the values that wait, other ops run as one kernel, which may round in another way.
TEST(CudaStandInMemory, TrainsWithinALimitWithTheSameNumbers) {
  const Example example = {"examples/tiny_gpt/tiny_gpt.model", {"batch=8", "seq=16", "width=32"}};
  const std::vector<double> kept = LossesOf(example, "cuda", 2);
  const Memory whole = MemoryOf("cuda");
  ExpectNodesAsPredicted(example, 2);
  Example thrifty = example;
  thrifty.smaller.push_back("recompute=full");
  const std::vector<double> again = LossesOf(thrifty, "cuda", 2);
  EXPECT_EQ(again.size(), kSteps);
  EXPECT_LE(LargestRelativeDifference(again, kept), 1e-5);
  const Memory own = MemoryOf("cuda");
  EXPECT_LT(own.predicted, 0.9 * whole.predicted);
  // Both numbers leave out other things, the same ones for both programs (docs/memory.md).
  EXPECT_NEAR(whole.measured - own.measured, whole.predicted - own.predicted, 0.02 * whole.predicted);
}

// Layers with dropout, whose values wait on the host where `asks` says so.
Example OffloadedLayers(bool asks) {
  std::string text = ReadText(DataPath("tests/end_to_end/dropped_layers.model"));
  const std::string loop = "    for i in 0..depth";
  const size_t place = text.find(loop);
  EXPECT_NE(place, std::string::npos);
  if (asks) text.insert(place, "    #[offload]\n");
  const std::string path = FolderOf(asks ? "offloaded.model" : "kept.model");
  WriteText(path, text);
  return {.model = path, .smaller = {"depth=6", "batch=48", "width=16", "data=synthetic(train = 96, test = 48)"}};
}

// What comes back from the host is what went there.
TEST(CudaStandInMemory, WaitsOnTheHostWithTheSameNumbers) {
  for (const auto& [devices, micro_batches] : {std::pair{1, 1}, std::pair{2, 2}}) {
    SCOPED_TRACE(testing::Message() << devices << " ranks, " << micro_batches << " micro-batches");
    Example kept = OffloadedLayers(false);
    Example offloaded = OffloadedLayers(true);
    for (Example* example : {&kept, &offloaded}) {
      example->smaller.push_back("micro_batches=" + std::to_string(micro_batches));
    }
    const std::vector<double> expected = LossesOf(kept, "cuda", devices);
    const Memory whole = MemoryOf("cuda");
    EXPECT_EQ(expected.size(), kSteps);
    EXPECT_EQ(LossesOf(offloaded, "cuda", devices), expected);
    const Memory own = MemoryOf("cuda");
    EXPECT_LT(own.predicted, 0.9 * whole.predicted);
    EXPECT_EQ(whole.measured - own.measured, whole.predicted - own.predicted);
    EXPECT_EQ(whole.on_host, 0);
    EXPECT_GT(own.on_host, 0.1 * whole.predicted);
    if (devices > 1) ExpectTheSameOnOneGpu(expected);
  }
}

// What stages send waits for other stages, in the program's own memory. Each pass is a graph, with messages between and
// collectives of ZeRO inside, of tensors that three ranks share unevenly, too; a stage may take several messages in one
// pass.
TEST(CudaStandInPipeline, TrainsAsTheCpuDoes) {
  const Example whole = {"tests/end_to_end/staged.model", {"seq=16", "width=32"}};
  const std::vector<double> expected = LossesOf(whole, "cpu", 1);
  const std::vector<std::string> thirds = {"stages=3", "micro_batches=4", "zero=2", "pipeline_schedule=zero_bubble"};
  const std::vector<std::string> two_each = {"stages=2", "micro_batches=4", "zero=3",
                                             "pipeline_schedule=interleaved(2)"};
  const std::vector<std::string> one_by_one = {"stages=4", "micro_batches=5", "pipeline_schedule=gpipe"};
  for (const auto& [ranks, settings] : {std::pair(6, thirds), std::pair(6, two_each), std::pair(4, one_by_one)}) {
    SCOPED_TRACE(settings.back());
    Example staged = whole;
    staged.smaller.insert(staged.smaller.end(), settings.begin(), settings.end());
    const std::vector<double> losses = LossesOf(staged, "cuda", ranks);
    EXPECT_LE(LargestRelativeDifference(losses, expected), 1e-4);
    if (settings == one_by_one) ExpectTheSameOnOneGpu(losses);
  }
}

// NCCL cannot connect two processes on one GPU.
TEST(CudaStandInMpi, RefusesTwoRanksOnOneGpu) {
  Build({"examples/mnist_mlp/mnist_mlp.model", {"batch=16"}}, "cuda", {"COMM=mpi"}, 2);
  if (HasFatalFailure()) return;
  const CommandResult ran =
      RunCommand({"./run.sh", "--launch", "mpirun", "--quiet"}, FolderOf("cuda"), {"CUDA_STAND_IN_DEVICES=1"});
  EXPECT_EQ(ran.exit_code, 5) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("a rank needs a GPU of its own"), std::string::npos) << ran.err;
}

// One rank under a launcher has no other rank to connect to.
TEST(CudaStandInMpi, RunsOneRank) {
  Build({"examples/mnist_mlp/mnist_mlp.model", {"batch=16", kData}}, "cuda", {"COMM=mpi"}, 1);
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
