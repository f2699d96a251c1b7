#include "codegen/runtime_files/needed_files.h"

#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"

namespace cleave::codegen {
namespace {

constexpr absl::string_view kEverything = "runtime/runtime.h";
constexpr absl::string_view kViewsOfTensors = "runtime/custom/view.h";
constexpr absl::string_view kStarter = "runtime/starter/starter.cc";
constexpr absl::string_view kScheduler = "runtime/scheduler/scheduler.cc";
constexpr absl::string_view kNamesOfObjects = "runtime/objects/objects.sh";

bool IsPartOfName(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The path in `#include "path"`; empty for any other line.
absl::string_view IncludedPath(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "#include \"")) return "";
  return line.substr(0, line.find('"'));
}

std::vector<absl::string_view> IncludedPaths(absl::string_view text) {
  std::vector<absl::string_view> paths;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (const absl::string_view path = IncludedPath(line); !path.empty()) paths.push_back(path);
  }
  return paths;
}

bool IsSource(absl::string_view path) { return absl::EndsWith(path, ".cc") || absl::EndsWith(path, ".cu"); }

// "pooling" of "runtime/kernels/cpu/pooling.cc".
absl::string_view Stem(absl::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.substr(0, path.find('.'));
}

// The header that declares what a source defines.
absl::string_view OwnHeader(const RuntimeFile& source) {
  absl::string_view first;
  absl::string_view of_its_name;
  for (const absl::string_view line : absl::StrSplit(source.text, '\n')) {
    const absl::string_view path = IncludedPath(line);
    if (path.empty()) continue;
    if (absl::EndsWith(line, "// IWYU pragma: associated")) return path;
    if (first.empty()) first = path;
    if (of_its_name.empty() && Stem(path) == Stem(source.path)) of_its_name = path;
  }
  return of_its_name.empty() ? first : of_its_name;
}

std::set<absl::string_view> Words(absl::string_view text) {
  std::set<absl::string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && IsPartOfName(text[end])) ++end;
    if (end > begin) words.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

bool DeclaresOneOf(absl::string_view header, const std::set<absl::string_view>& words) {
  for (const absl::string_view name : DeclaredNames(header)) {
    if (words.count(name) > 0) return true;
  }
  return false;
}

class Needs {
 public:
  explicit Needs(absl::Span<const RuntimeFile> files) {
    for (const RuntimeFile& file : files) {
      texts_[file.path] = file.text;
      if (IsSource(file.path)) sources_[OwnHeader(file)].push_back(file.path);
    }
  }

  void Add(absl::string_view path) {
    if (!absl::StartsWith(path, "runtime/") || !needed_.insert(path).second) return;
    const auto file = texts_.find(path);
    CLEAVE_CHECK(file != texts_.end()) << "the runtime has no file " << path;
    if (path != kEverything) AddIncludesOf(file->second);
    for (const absl::string_view source : sources_[path]) Add(source);
  }

  void AddIncludesOf(absl::string_view text) {
    for (const absl::string_view path : IncludedPaths(text)) Add(path);
  }

  bool IsNeeded(absl::string_view path) const { return needed_.count(path) > 0; }

  // The lines of runtime/runtime.h of which a program with these words needs the header.
  std::string LinesFor(const std::set<absl::string_view>& words) const {
    std::string text;
    for (const absl::string_view line : absl::StrSplit(texts_.at(kEverything), '\n')) {
      const auto header = texts_.find(IncludedPath(line));
      if (header == texts_.end() || DeclaresOneOf(header->second, words)) absl::StrAppend(&text, line, "\n");
    }
    text.pop_back();  // Behind the last newline the split has found an empty line.
    return text;
  }

 private:
  std::map<absl::string_view, absl::string_view> texts_;
  std::map<absl::string_view, std::vector<absl::string_view>>
      sources_;  // By the header that declares what they define.
  std::set<absl::string_view> needed_;
};

}  // namespace

std::vector<absl::string_view> DeclaredNames(absl::string_view header) {
  // In a file that clang-format has laid out, a declaration begins at the start of a line, and the rest of it is
  // indented.
  std::vector<absl::string_view> names;
  for (absl::string_view line : absl::StrSplit(header, '\n')) {
    if (line.empty() || !IsPartOfName(line[0])) continue;
    if (absl::StartsWith(line, "namespace ") || absl::StartsWith(line, "template ")) continue;
    line = line.substr(0, line.find_first_of("(=[{;"));
    line = absl::StripSuffix(absl::StripTrailingAsciiWhitespace(line), " final");
    size_t begin = line.size();
    while (begin > 0 && IsPartOfName(line[begin - 1])) --begin;
    if (begin < line.size()) names.push_back(line.substr(begin));
  }
  return names;
}

std::vector<NeededFile> NeededFiles(absl::string_view program, absl::Span<const RuntimeFile> files) {
  Needs needs(files);
  const std::string everything = needs.LinesFor(Words(program));
  needs.AddIncludesOf(program);
  needs.AddIncludesOf(everything);
  for (const absl::string_view path : IncludedPaths(program)) {
    if (!absl::StartsWith(path, "runtime/")) needs.Add(kViewsOfTensors);
  }
  needs.Add(kStarter);
  needs.Add(kScheduler);
  needs.Add(kNamesOfObjects);
  std::vector<NeededFile> needed;
  for (const RuntimeFile& file : files) {
    if (!needs.IsNeeded(file.path)) continue;
    needed.push_back(
        {.path = std::string(file.path), .text = file.path == kEverything ? everything : std::string(file.text)});
  }
  return needed;
}

}  // namespace cleave::codegen
