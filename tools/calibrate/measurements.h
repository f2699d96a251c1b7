// Private to tools/calibrate: what the program that measures has written (runtime/measure/measure.h).
#ifndef CLEAVE_TOOLS_CALIBRATE_MEASUREMENTS_H_
#define CLEAVE_TOOLS_CALIBRATE_MEASUREMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/units/units.h"
#include "ir/program/program.h"

namespace cleave::tools {

// What calls of all ranks took, each as long as that of the slowest rank.
struct TimedCalls {
  Seconds least{0};  // Other work of the machine can only add time.
  Seconds median{0};
  Seconds upper_quartile{0};
  int64_t repetitions = 0;
};

// A collective in groups of `ranks`; bytes as search::CollectiveSeconds counts them.
struct MeasuredCollective {
  ir::CollectiveKind kind = ir::CollectiveKind::kAllReduce;
  std::string link;  // "host", "network"; "all": over both.
  int64_t ranks = 2;
  Bytes bytes{0};
  TimedCalls times;
};

// Of square matrices with `size` rows, of "f32", "bf16" or "tf32".
struct MeasuredProduct {
  std::string type;
  int64_t size = 0;
  TimedCalls times;

  Flops flops() const { return Flops(2.0 * static_cast<double>(size) * static_cast<double>(size * size)); }
};

// `bytes` that are moved.
struct MeasuredBytes {
  Bytes bytes{0};
  TimedCalls times;

  double rate() const { return static_cast<double>(bytes.value()) / times.least.value(); }
};

// What computing loses while communication goes on.
struct MeasuredOverlap {
  Bytes bytes{0};  // That are sent.
  TimedCalls communication, computation, both;
};

struct MeasuredRank {
  std::string host;
  std::string device;  // Of a GPU.
  Bytes memory{0};
  int64_t threads = 1;
};

struct Measurements {
  std::vector<MeasuredRank> ranks;
  std::vector<MeasuredCollective> collectives;  // By link, then ranks, kind and bytes, of which the last two ascend.
  std::vector<MeasuredProduct> products;        // By type, then size, ascending.
  std::vector<MeasuredBytes> memory;            // Read and written together; ascending.
  std::optional<TimedCalls> kernel;             // A small one of a GPU.
  std::vector<MeasuredBytes> host_copies;       // To the host and from it.
  std::optional<MeasuredBytes> input;           // A batch of samples that is read.
  std::optional<MeasuredOverlap> overlap;
};

// An InvalidArgument error where the text is not what the program writes.
absl::StatusOr<Measurements> ParseMeasurements(absl::string_view text);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CALIBRATE_MEASUREMENTS_H_
