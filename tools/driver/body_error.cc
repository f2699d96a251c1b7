#include "tools/driver/body_error.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace cleave::tools {
namespace {

constexpr absl::string_view kUndefined = "undefined reference to ";

struct CompilerError {
  std::string text;                      // "'View' was not declared in this scope"
  std::vector<absl::string_view> lines;  // Its own, what led to it (includes, expansions), and its notes.
};

struct BodyLine {
  std::string path;
  int line = 1;
};

// What a line says behind "error: ", "fatal error: " or nvcc's "error #20-D: ", or an error of the linker.
absl::string_view ErrorText(absl::string_view line) {
  if (const size_t at = line.find(kUndefined); at != absl::string_view::npos) return line.substr(at);
  for (const absl::string_view mark : {": error", ": fatal error", ": catastrophic error"}) {
    const size_t at = line.find(mark);
    const size_t colon = at == absl::string_view::npos ? at : line.find(": ", at + mark.size());
    if (colon != absl::string_view::npos) return line.substr(colon + 2);
  }
  return "";
}

std::vector<CompilerError> ErrorsOf(absl::string_view log) {
  std::vector<CompilerError> errors;
  std::vector<absl::string_view> before;  // Lines that may lead to the next error.
  bool in_error = false;                  // Notes belong to the last of `errors`, and not to a warning.
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    if (const absl::string_view text = ErrorText(line); !text.empty()) {
      errors.push_back({.text = std::string(text), .lines = std::exchange(before, {})});
      errors.back().lines.insert(errors.back().lines.begin(), line);
      in_error = true;
    } else if (absl::StrContains(line, ": warning")) {
      before.clear();
      in_error = false;
    } else if (absl::StrContains(line, ": note")) {
      before.clear();
      if (in_error) errors.back().lines.push_back(line);
    } else {
      before.push_back(line);
    }
  }
  return errors;
}

// The number behind a path in the log: "custom/cap.h:5:17: error", nvcc's "custom/cap.cuh(12): error".
std::optional<int> NumberBehind(absl::string_view path, absl::string_view line) {
  const size_t at = line.find(path);
  if (at == absl::string_view::npos) return std::nullopt;
  line.remove_prefix(at + path.size());
  if (line.empty() || (line[0] != ':' && line[0] != '(')) return std::nullopt;
  int number = 0;
  const absl::string_view digits = line.substr(1, line.find_first_not_of("0123456789", 1) - 1);
  return absl::SimpleAtoi(digits, &number) ? std::optional<int>(number) : std::nullopt;
}

// The statement of the program that has this line, from its beginning.
std::string StatementAt(absl::string_view program, int line) {
  std::string statement;
  for (const absl::string_view text : absl::StrSplit(program, '\n')) {
    absl::StrAppend(&statement, text, "\n");
    if (--line == 0) return statement;
    if (absl::EndsWith(text, ";") || absl::EndsWith(text, "{") || absl::EndsWith(text, "}")) statement.clear();
  }
  return "";
}

bool IsPartOfName(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The first line of a body with the function of a call: `helper` of "cleave::helper(int)".
std::optional<BodyLine> FunctionIn(const FailedBuild& build, absl::string_view call) {
  const size_t end = std::min(call.find('('), call.size());
  size_t begin = end;
  while (begin > 0 && IsPartOfName(call[begin - 1])) --begin;
  if (begin == end) return std::nullopt;
  const std::string function = absl::StrCat(call.substr(begin, end - begin), "(");
  for (const auto& [path, body] : build.bodies) {
    size_t at = body.text.find(function);
    while (at != std::string::npos && at > 0 && IsPartOfName(body.text[at - 1])) at = body.text.find(function, at + 1);
    if (at == std::string::npos) continue;
    const auto lines = std::count(body.text.begin(), body.text.begin() + static_cast<int64_t>(at), '\n');
    return BodyLine{.path = path, .line = static_cast<int>(lines) + 1};
  }
  return std::nullopt;
}

std::optional<BodyLine> LineInBody(const CompilerError& error, const FailedBuild& build) {
  for (const absl::string_view line : error.lines) {
    for (const auto& [path, body] : build.bodies) {
      if (const auto number = NumberBehind(path, line)) return BodyLine{.path = path, .line = *number};
    }
  }
  if (absl::StartsWith(error.text, kUndefined)) return FunctionIn(build, error.text);
  for (const absl::string_view program : {"program.cc", "program.cu"}) {
    const std::optional<int> number = NumberBehind(program, error.lines[0]);
    if (number.has_value()) return FunctionIn(build, StatementAt(build.program, *number));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> BodyError(const FailedBuild& build, SourceSet& sources) {
  bool is_first = true;
  for (const CompilerError& error : ErrorsOf(build.log)) {
    // Later errors follow from the first one. But behind a brace that is never closed the compiler finds errors in
    // files that are right, before it says so at the end.
    const bool decides = std::exchange(is_first, false) || absl::StartsWith(error.text, "expected '}'");
    const std::optional<BodyLine> place = decides ? LineInBody(error, build) : std::nullopt;
    if (!place.has_value()) continue;
    const frontend::CustomFile& body = build.bodies.at(place->path);
    const FileId file = sources.Add(body.source, body.text);
    return Error(Code::kE0522, absl::StrCat("`", body.source, "` does not compile"))
        .At(sources.file(file).SpanOfLine(file, place->line), error.text);
  }
  return std::nullopt;
}

}  // namespace cleave::tools
