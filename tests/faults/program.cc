#include "tests/faults/program.h"

#include <filesystem>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests::faults {
namespace {

namespace fs = std::filesystem;

constexpr char kModel[] = R"(model Faulty(batch: int = 12) {
    input x: f32[batch, 16];
    input target: f32[batch, 4];
    let h = dense(x, 32);
    let y = dense(h, 4);
    loss reduce_mean(square(y - target));
}

train Faulty {
    data = npy(x = "x.npy", target = "target.npy");
    optimizer = sgd(lr = 0.001);
    log_every = 50;
}

parallel {
    mesh = (d = 3);
    search = data_parallel;
}
)";
constexpr int kSamples = 48;

// A file of float32 numbers in version 1.0 of the format.
void WriteNpy(const std::string& path, const std::vector<float>& values, int columns) {
  std::string header = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                                    values.size() / static_cast<size_t>(columns), ", ", columns, "), }");
  header.resize((10 + header.size()) / 64 * 64 + 64 - 10 - 1, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 255) << static_cast<char>(header.size() >> 8)
      << header;
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

std::string TableText() {
  std::vector<std::string> devices;
  for (int rank = 0; rank < kRanks; ++rank) {
    devices.push_back(
        absl::StrCat(R"({"device_id": ")", rank, R"(", "device_ip": "192.168.0.1", "rank_id": ")", rank, R"("})"));
  }
  return absl::StrCat(
      R"({"version": "1.0", "server_count": "1", "server_list": [{"server_id": "127.0.0.1", "device": [)",
      absl::StrJoin(devices, ", "), R"(], "host_nic_ip": "reserve"}], "status": "completed"})", "\n");
}

}  // namespace

void WriteData(const std::string& folder, std::optional<float> odd, uint64_t seed) {
  fs::create_directories(folder);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(kSamples * 16);
  std::vector<float> target(kSamples * 4);
  for (float& value : x) value = uniform(random);
  for (float& value : target) value = uniform(random);
  if (odd.has_value()) x[random() % x.size()] = *odd;
  WriteNpy(folder + "/x.npy", x, 16);
  WriteNpy(folder + "/target.npy", target, 4);
}

Program BuildProgram(const std::string& folder) {
  WriteText(folder + "/faulty.model", kModel);
  const Program program = {.folder = folder + "/out", .data = folder + "/data"};
  const CommandResult compiled = Compile({folder + "/faulty.model", "--out", program.folder}, folder);
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  for (const char* comm : {"COMM=mpi", "COMM=gloo", "COMM=local"}) {
    const CommandResult made = Make(program.folder, {comm});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }
  WriteText(program.folder + "/ranks.json", TableText());
  WriteData(program.data, std::nullopt, 1);
  return program;
}

std::vector<Program> Copies(const Program& program, int count) {
  std::vector<Program> copies;
  for (int i = 0; i < count; ++i) {
    const std::string folder = absl::StrCat(program.folder, "_", i);
    fs::create_directories(folder);
    for (const char* name :
         {"run.sh", "starter", "program", "program_gloo", "program_local", "scheduler", "ranks.json"}) {
      fs::copy(program.folder + "/" + name, folder + "/" + name);
    }
    copies.push_back({.folder = folder, .data = program.data});
  }
  return copies;
}

}  // namespace cleave::tests::faults
