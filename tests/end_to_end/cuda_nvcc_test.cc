// nvcc compiles and links programs for GPUs, and moves vectors at once. On a machine without a GPU they say so and end
// with 5.
#include <unistd.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/compile.h"

namespace cleave::tests {
namespace {

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Kernels that load a vector, compute with it and store it.
constexpr char kVectors[] = R"cc(
#include "runtime/device/cuda/vector.cuh"
  using namespace cleave::runtime;
  template <typename T, int kCount>
  __device__ void Halve(const T* x, T* y) {
    auto vector = Load<kCount>(x);
    for (int i = 0; i < kCount; ++i) vector[i] = T(0.5f * static_cast<float>(vector[i]));
    Store(vector, y);
  }
  __global__ void F32(const float* x, float* y) { Halve<float, 4>(x, y); }
  __global__ void Bf16(const BFloat16* x, BFloat16* y) { Halve<BFloat16, 8>(x, y); }
  __global__ void F16(const Float16* x, Float16* y) { Halve<Float16, 8>(x, y); }
  __global__ void HalfOfAVector(const BFloat16* x, BFloat16* y) { Halve<BFloat16, 4>(x, y); }
)cc";

// The bytes that each access to global memory moves, in their order: those of "ld.global.v4.f32" are 16.
std::string BytesMovedIn(const std::string& ptx) {
  static const std::regex access(R"((?:ld|st)\.global(?:\.v(\d))?\.[a-z]+(\d+))");
  std::string bytes;
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), access), end; at != end; ++at) {
    const int elements = (*at)[1].matched ? std::stoi((*at)[1]) : 1;
    bytes += std::to_string(elements * std::stoi((*at)[2]) / 8) + " ";
  }
  return bytes;
}

class CudaNvcc : public testing::Test {
 protected:
  void SetUp() override {
    nvcc_ = RunCommand({"sh", "-c", "command -v nvcc"}).exit_code == 0 ? "nvcc" : "/usr/local/cuda/bin/nvcc";
    if (nvcc_ != "nvcc" && !IsThere(nvcc_)) GTEST_SKIP() << "no nvcc on this machine";
  }

  // A program that finds no GPU says so and ends.
  static void ExpectNoGpu(const std::string& folder, const std::vector<std::string>& command) {
    std::vector<std::string> limited = {"timeout", "60"};
    limited.insert(limited.end(), command.begin(), command.end());
    const CommandResult ran =
        RunCommand(limited, folder, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
    EXPECT_EQ(ran.exit_code, 5) << ran.out << ran.err;
    EXPECT_NE(ran.err.find("GPU"), std::string::npos) << ran.err;
  }

  // Vectors of structs of 16 bits, too, are moved by one load and one store.
  void ExpectVectorsAreMovedAtOnce(const std::string& out) {
    WriteText(out + "/vectors.cu", kVectors);
    const CommandResult compiled =
        RunCommand({nvcc_, "-ptx", "-arch=sm_90", "-std=c++17", "-I.", "-o", "vectors.ptx", "vectors.cu"}, out);
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    EXPECT_EQ(BytesMovedIn(ReadText(out + "/vectors.ptx")), "16 16 16 16 16 16 8 8 ");
  }

  std::string nvcc_;
};

// A model with convolutions, pooling, embeddings, attention, samples by a function of its own, and a layer that waits
// on the host.
TEST_F(CudaNvcc, BuildsAModelOfAllLayersWhichSaysThatThereIsNoGpu) {
  const std::string folder = FreshFolder("cuda_nvcc");
  const std::string out = folder + "/out";
  std::string text = ReadText(DataPath("examples/clip/clip.model"));
  const std::string convolution = "let patches = conv2d(image, width, patch, stride = patch);";
  ASSERT_NE(text.find(convolution), std::string::npos);
  text.replace(text.find(convolution), convolution.size(),
               "#[offload] let halves = conv2d(image, width, patch / 2, stride = patch / 2);\n"
               "let patches = max_pool(halves, 2);");
  WriteText(folder + "/clip.model", text);
  WriteText(folder + "/captions.h", ReadText(DataPath("examples/clip/captions.h")));
  const CommandResult compiled =
      Compile({"clip.model", "--target", "cuda", "--devices", "2", "--out", "out", "--quiet"}, folder);
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  for (const auto& [comm, start] : std::map<std::string, std::vector<std::string>>{
           {"mpi", {"mpirun", "-n", "2", "--oversubscribe", "./program"}}, {"local", {"./program_local"}}}) {
    // Optimizing takes as long as all else.
    const CommandResult built =
        MakeByGcc(out, {"COMM=" + comm, "ARCHS=90", "CXXFLAGS=-O0 -march=native -std=c++17 -fopenmp",
                        "NVCCFLAGS=-O0 -std=c++17 -lineinfo -Xcompiler -fopenmp",
                        "FLAGS_runtime/kernels/cuda=-Xcicc -O1 -Xptxas -O1"});
    ASSERT_EQ(built.exit_code, 0) << built.err;
    if (!IsThere("/dev/nvidia0")) ExpectNoGpu(out, start);
  }
  ExpectVectorsAreMovedAtOnce(out);
}

}  // namespace
}  // namespace cleave::tests
