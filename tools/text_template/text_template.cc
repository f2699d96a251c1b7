#include "tools/text_template/text_template.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status/status_macros.h"

namespace cleave::tools {
namespace {

absl::Status TemplateError(int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, " of a template ", what));
}

// One line with its gaps filled.
absl::StatusOr<std::string> FillLine(absl::string_view line, int number, const TemplateValues& values) {
  std::string filled;
  for (size_t gap = line.find("${"); gap != line.npos; gap = line.find("${")) {
    const size_t end = line.find('}', gap);
    if (end == line.npos) return TemplateError(number, "has `${` without `}`");
    const std::string name(line.substr(gap + 2, end - gap - 2));
    const auto value = values.find(name);
    if (value == values.end()) return TemplateError(number, absl::StrCat("asks for `", name, "`, which has no value"));
    absl::StrAppend(&filled, line.substr(0, gap), value->second);
    line.remove_prefix(end + 1);
  }
  return absl::StrCat(filled, line);
}

// The parts around a line, the innermost last.
class Parts {
 public:
  // Whether lines are written.
  bool AreWanted() const {
    for (const Part& part : parts_) {
      if (!part.is_wanted) return false;
    }
    return true;
  }
  bool empty() const { return parts_.empty(); }

  absl::Status Read(absl::string_view line, int number, const TemplateValues& values) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "%if ")) {
      const bool is_negated = absl::ConsumePrefix(&line, "not ");
      parts_.push_back({.is_wanted = Holds(values, std::string(line)) != is_negated});
      return absl::OkStatus();
    }
    if (line == "%else" && !parts_.empty() && !parts_.back().has_else) {
      parts_.back() = {.is_wanted = !parts_.back().is_wanted, .has_else = true};
      return absl::OkStatus();
    }
    if (line != "%end" || parts_.empty()) return TemplateError(number, absl::StrCat("is `", line, "`"));
    parts_.pop_back();
    return absl::OkStatus();
  }

 private:
  struct Part {
    bool is_wanted = false;
    bool has_else = false;
  };
  std::vector<Part> parts_;
};

}  // namespace

bool Holds(const TemplateValues& values, const std::string& name) {
  const auto value = values.find(name);
  return value != values.end() && !value->second.empty() && value->second != "false";
}

absl::StatusOr<std::string> FillTemplate(absl::string_view text, const TemplateValues& values) {
  std::string filled;
  Parts parts;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    ++number;
    if (!line.empty() && line[0] == '%') {
      CLEAVE_RETURN_IF_ERROR(parts.Read(line, number, values));
    } else if (parts.AreWanted()) {
      CLEAVE_ASSIGN_OR_RETURN(const std::string complete, FillLine(line, number, values));
      absl::StrAppend(&filled, complete, "\n");
    }
  }
  if (!parts.empty()) return TemplateError(number, "is the last, and a part has no `%end`");
  return filled;
}

}  // namespace cleave::tools
