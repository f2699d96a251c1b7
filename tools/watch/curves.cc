#include "tools/watch/curves.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file/file.h"
#include "base/json/json.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

// Of a line, so that a file without ends of lines is not read into memory whole.
constexpr size_t kMostLineBytes = size_t{16} << 20;

}  // namespace

absl::StatusOr<bool> Curves::Read() {
  std::error_code error;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path_, error));
  if (error || !std::filesystem::is_regular_file(path_, error)) {
    return absl::NotFoundError(absl::StrCat("there is no file ", QuotedPath(path_)));
  }
  if (size < read_) {  // Training has begun anew.
    *this = Curves(path_);
  }
  std::ifstream file(path_, std::ios::binary);
  file.seekg(read_);
  bool has_new = false;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    if (line.size() > kMostLineBytes)
      return absl::InvalidArgumentError(absl::StrCat(QuotedPath(path_), ": a line is too long"));
    ++lines_;
    if (absl::Status read = AddLine(line); !read.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(QuotedPath(path_), " line ", lines_, ": ", read.message()));
    }
    read_ += static_cast<int64_t>(line.size()) + 1;
    has_new = true;
  }
  return has_new;
}

absl::Status Curves::AddLine(absl::string_view line) {
  CLEAVE_ASSIGN_OR_RETURN(const Json object, ParseStrictJson(line));
  if (!object.is_object() || !object.contains("step")) return absl::InvalidArgumentError("not an object with a `step`");
  CLEAVE_ASSIGN_OR_RETURN(const int64_t step, IntegerAt(object, "step", "step"));
  // The line of an evaluation has a part of the data, and no loss of its own.
  std::string part;
  for (const auto& [name, value] : object.items()) {
    if (value.is_object() && name != "watch") part = name;
  }
  for (const auto& [name, value] : object.items()) {
    if (name == "step") continue;
    if (value.is_number()) {
      const bool is_of_part = !part.empty() && name != "epoch";
      Add(is_of_part ? absl::StrCat(part, "/", name) : name, step, value.get<double>());
    } else if (value.is_object()) {
      for (const auto& [inner, of_inner] : value.items()) {
        if (of_inner.is_number()) Add(absl::StrCat(name, "/", inner), step, of_inner.get<double>());
        if (!of_inner.is_object()) continue;
        for (const auto& [figure, number] : of_inner.items()) {
          if (number.is_number()) Add(absl::StrCat(name, "/", inner, "/", figure), step, number.get<double>());
        }
      }
    }
  }
  return absl::OkStatus();
}

void Curves::Add(const std::string& name, int64_t step, double value) {
  const auto [found, is_new] = curve_of_.emplace(name, curves_.size());
  if (is_new) curves_.push_back({.name = name, .points = {}});
  std::vector<Point>& points = curves_[found->second].points;
  // An evaluation has the epoch of its step, too.
  if (!points.empty() && points.back().step == step) return;
  points.push_back({.step = step, .value = value});
}

const Curve* Curves::Find(absl::string_view name) const {
  const auto found = curve_of_.find(std::string(name));
  return found == curve_of_.end() ? nullptr : &curves_[found->second];
}

std::vector<std::string> Curves::Names() const {
  std::vector<std::string> names;
  for (const Curve& curve : curves_) names.push_back(curve.name);
  return names;
}

}  // namespace cleave::tools
