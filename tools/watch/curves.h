// Private to tools/watch: the numbers of a run by the step of training.
#ifndef CLEAVE_TOOLS_WATCH_CURVES_H_
#define CLEAVE_TOOLS_WATCH_CURVES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace cleave::tools {

struct Point {
  int64_t step = 0;
  double value = 0;

  bool operator==(const Point&) const = default;
};

struct Curve {
  std::string name;  // "loss", "validation/loss", "watch/h1.relu/norm"
  std::vector<Point> points;
};

// A metrics.jsonl, also one that is being written.
class Curves {
 public:
  explicit Curves(std::string path) : path_(std::move(path)) {}

  // Reads the lines that have come since the last call; all of them where the file has become another one. NotFound
  // where there is no file, InvalidArgument where a line is no object of a step. Returns whether anything has come.
  absl::StatusOr<bool> Read();

  // In the order in which they first come.
  const std::vector<Curve>& all() const { return curves_; }
  // Null where there is none.
  const Curve* Find(absl::string_view name) const;
  std::vector<std::string> Names() const;

 private:
  absl::Status AddLine(absl::string_view line);
  void Add(const std::string& name, int64_t step, double value);

  std::string path_;
  int64_t read_ = 0;   // Bytes of whole lines.
  int64_t lines_ = 0;  // Of which they are.
  std::vector<Curve> curves_;
  std::map<std::string, size_t> curve_of_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_WATCH_CURVES_H_
