// Saves or reads the state of a language model by ranks that are threads, and prints how long that took.
//
//   state save FOLDER RANKS MB     The parameters of all ranks, each with two states of an optimizer, that many 10^6
//   bytes. state load FOLDER RANKS MB
//
// Prints {"bytes": B, "seconds": S}: all bytes, and the seconds of the rank that took longest.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/writer.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kStep = 1;

// Layers of four matrices and two vectors.
std::vector<StateTensor> StateOfSize(int64_t bytes) {
  constexpr int64_t kLayers = 12;
  constexpr int64_t kCopies = 3;  // The parameter, and two of the optimizer.
  const int64_t elements = bytes / static_cast<int64_t>(sizeof(float)) / kLayers / kCopies;
  int64_t width = 1;
  while (12 * width * width < elements) ++width;
  std::vector<StateTensor> state;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const auto add = [&](const char* name, const std::vector<int64_t>& shape) {
      for (const char* copy : {"", ".adam_m", ".adam_v"}) {
        state.push_back({"layer_" + std::to_string(layer) + "." + name + copy, {shape, {}}});
      }
    };
    add("qkv", {3 * width, width});
    add("out", {width, width});
    add("up", {4 * width, width});
    add("down", {width, 4 * width});
    add("scale", {width});
    add("bias", {width});
  }
  return state;
}

struct RankState {
  std::vector<StateTensor> state;
  std::vector<std::vector<float>> values;
};

RankState Allocated(const std::vector<StateTensor>& state, float first) {
  RankState own = {state, {}};
  for (StateTensor& tensor : own.state) {
    std::vector<float>& values = own.values.emplace_back(static_cast<size_t>(ElementCount(tensor.layout.shape)), first);
    for (size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i % 65537);
    tensor.values = values.data();
  }
  return own;
}

void Check(const std::optional<Error>& error) {
  if (error.has_value()) Die(error->code, error->message);
}

int Run(bool saves, const std::string& folder, int ranks, int64_t megabytes) {
  const Mesh mesh = {{"m0", ranks}};
  const std::vector<StateTensor> state = StateOfSize(megabytes * 1000000);
  int64_t bytes = 0;
  for (const StateTensor& tensor : state) bytes += ElementCount(tensor.layout.shape) * int64_t{sizeof(float)};
  std::vector<RankState> own;
  for (int rank = 0; rank < ranks; ++rank) own.push_back(Allocated(state, saves ? 1.0f : 0.0f));
  std::vector<double> seconds(static_cast<size_t>(ranks));
  std::vector<Shard> shards(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto r = static_cast<size_t>(rank);
      if (saves) {
        ShardWriter writer(folder, own[r].state, mesh, rank);
        const double start = Now();
        writer.Start(kStep);
        Result<Shard> shard = writer.Take();
        if (!shard.ok()) Die(shard.error().code, shard.error().message);
        shards[r] = shard.value();
        seconds[r] = Now() - start;
        return;
      }
      const double start = Now();
      const Result<Checkpoint> checkpoint = Checkpoint::Open(CheckpointFolder(folder, kStep));
      if (!checkpoint.ok()) Die(checkpoint.error().code, checkpoint.error().message);
      Check(checkpoint.value().CheckFits(own[r].state, mesh));
      Check(checkpoint.value().Load(own[r].state, mesh, rank));
      seconds[r] = Now() - start;
    });
  }
  for (std::thread& thread : threads) thread.join();
  double longest = *std::max_element(seconds.begin(), seconds.end());
  if (saves) {
    const double start = Now();
    Check(Complete(folder, {.model = "State", .step = kStep, .seed = 1}, mesh, state, shards, 1));
    longest += Now() - start;
  }
  std::printf("{\"bytes\": %" PRId64 ", \"seconds\": %.6f}\n", bytes, longest);
  return 0;
}

}  // namespace
}  // namespace cleave::runtime

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return cleave::runtime::Run(std::strcmp(argv[1], "save") == 0, argv[2], std::atoi(argv[3]), std::atoll(argv[4]));
}
