#include "tests/faults/program.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/support/command.h"
#include "tests/support/compile.h"

namespace cleave::tests::faults {
namespace {

namespace fs = std::filesystem;

constexpr char kTrained[] = R"(model Faulty(batch: int = 12) {
    input x: f32[batch, 16];
    input target: f32[batch, 4];
    let mut h = x;
    for i in 0..3 {
        h = dense(h, 16);
    }
    let y = dense(h, 4);
    loss reduce_mean(square(y - target));
}

train Faulty {
    data = npy(x = "x.npy", target = "target.npy");
    optimizer = sgd(lr = 0.001);
    log_every = 50;
}
)";
constexpr char kWriting[] = R"(model Faulty(batch: int = 3, seq: int = 64) {
    input tokens: i32[batch, seq];
    input next: i32[batch, seq];
    let x = block(embedding(tokens, 11, 8) + position(seq, 8), 2);
    loss cross_entropy(dense(x, 11), next);
}

train Faulty {
    data = synthetic(train = 9);
    optimizer = sgd(lr = 0.01);
    epochs = 1;
    steps = 1;
    checkpoint = every(1);
}
)";
constexpr char kByAnyData[] = "\nparallel {\n    search = data_parallel;\n}\n";
constexpr char kByData[] = "\nparallel {\n    mesh = (d = 3);\n    search = data_parallel;\n}\n";
constexpr char kByStages[] = "\nparallel {\n    stages = 3;\n    micro_batches = 4;\n}\n";
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

namespace {

// Compiles and builds a model. Returns the folder of its run.sh, which is in `folder`.
std::string Build(const std::string& text, const std::vector<std::string>& flags, const std::vector<std::string>& comms,
                  const std::string& folder) {
  fs::create_directories(folder);
  const std::string model = folder + "/faulty.model", out = folder + "/out";
  WriteText(model, text);
  std::vector<std::string> arguments = {model, "--out", out};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const CommandResult compiled = Compile(arguments, folder);
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  for (const std::string& comm : comms) {
    const CommandResult made = Make(out, {absl::StrCat("COMM=", comm)});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }
  WriteText(out + "/ranks.json", TableText());
  return out;
}

}  // namespace

Programs BuildPrograms(const std::string& folder) {
  const std::vector<std::string> comms = {"mpi", "gloo", "local"};
  Programs programs = {.data = folder + "/data", .all = {}};
  WriteData(programs.data, std::nullopt, 1);
  for (const char* const parallel : {kByAnyData, kByStages}) {
    const std::string own = absl::StrCat(folder, "/trained_", programs.all.size());
    std::vector<std::string> flags = {"--devices", absl::StrCat(kRanks)};
    if (parallel == kByAnyData) flags.insert(flags.end(), {"--also", absl::StrCat(kFewerRanks)});
    programs.all.push_back({.folder = Build(absl::StrCat(kTrained, parallel), flags, comms, own),
                            .inputs = {"--epochs", "1000000", "--data", programs.data}});
  }
  const std::string first = Build(kWriting, {"--devices", "1"}, {"local"}, folder + "/first");
  const CommandResult trained = StartLocal(first, {"--quiet"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  const std::vector<std::string> flags = {"--devices", "3", "--mode", "generate"};
  programs.all.push_back({.folder = Build(absl::StrCat(kWriting, kByData), flags, comms, folder + "/writer"),
                          .inputs = {"--params", first + "/checkpoints", "--prompt", "3", "--samples", "100000"}});
  return programs;
}

std::vector<Programs> Copies(const Programs& programs, int count) {
  std::vector<Programs> copies;
  for (int i = 0; i < count; ++i) {
    Programs& copy = copies.emplace_back(Programs{.data = programs.data, .all = {}});
    for (const Program& program : programs.all) {
      const std::string folder = absl::StrCat(program.folder, "_", i);
      fs::create_directories(folder);
      for (const char* name : {"run.sh", "starter", "scheduler", "ranks.json"}) {
        fs::copy(program.folder + "/" + name, folder + "/" + name);
      }
      for (const std::string& fewer : {std::string(), absl::StrCat("/ranks_", kFewerRanks)}) {
        if (!fs::exists(program.folder + fewer)) continue;
        fs::create_directories(folder + fewer);
        for (const char* name : {"program", "program_gloo", "program_local"}) {
          fs::copy(absl::StrCat(program.folder, fewer, "/", name), absl::StrCat(folder, fewer, "/", name));
        }
      }
      copy.all.push_back({.folder = folder, .inputs = program.inputs});
    }
  }
  return copies;
}

void MountSmallDisks(std::vector<Programs>& all) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  bool is_apart = unshare(CLONE_NEWNS) == 0;
  if (!is_apart && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
    std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
    is_apart = true;
  }
  is_apart = is_apart && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  for (Programs& programs : all) {
    const std::string folder = programs.all[0].folder + "/small_disk";
    fs::create_directories(folder);
    const std::string size = absl::StrCat("size=", kSmallDisk);
    if (is_apart && mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) == 0) programs.small_disk = folder;
  }
  if (!all[0].small_disk.empty()) return;
  std::cerr << "\n*** NOT TESTED: disks that are full of checkpoints. No file system can be mounted here: "
            << std::strerror(errno) << "\n";
}

}  // namespace cleave::tests::faults
