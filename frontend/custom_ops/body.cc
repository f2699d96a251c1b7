#include "frontend/custom_ops/body.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file/file.h"
#include "base/text/text.h"

namespace cleave::frontend {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBodyBytes = int64_t{16} << 20;

// Whether the name can stand between the quotes of an #include on every system.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

bool IsWordCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Comments replaced by spaces.
std::string WithoutComments(absl::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const absl::string_view rest = text.substr(i);
    const bool line = rest.substr(0, 2) == "//";
    if (!line && rest.substr(0, 2) != "/*") {
      result.push_back(text[i++]);
      continue;
    }
    const size_t end = line ? rest.find('\n') : rest.find("*/", 2);
    result.push_back(' ');
    i = end == absl::string_view::npos ? text.size() : i + end + (line ? 0 : 2);
  }
  return result;
}

size_t SkipSpace(absl::string_view text, size_t at) {
  while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

std::string ViewText(const dsl::syntax::Parameter& parameter, bool is_const) {
  const char* element = parameter.type.element.text == "i32" ? "int32_t" : "float";
  return absl::StrCat("View<", is_const ? "const " : "", element, "> ", parameter.name.text);
}

// The arguments of the signature as those of a C++ function.
std::vector<std::string> ArgumentTexts(const CustomOp& op) {
  std::vector<std::string> texts;
  for (const dsl::syntax::Parameter& parameter : op.syntax->parameters) {
    const std::string& type = parameter.type.element.text;
    texts.push_back(IsTensor(parameter) ? ViewText(parameter, true)
                                        : absl::StrCat(type == "int" ? "int64_t" : type, " ", parameter.name.text));
  }
  return texts;
}

}  // namespace

const BodyFile* LoadBody(const std::string& folder, const std::string& path, Span place, const std::string& what,
                         std::list<BodyFile>& files, Reporter& reporter) {
  const fs::path source = (fs::path(folder) / path).lexically_normal();
  const std::string name = source.filename().string();
  if (!IsPlainName(name)) {
    reporter.Report(Error(Code::kE0508, absl::StrCat("`", path, "` is not a name for a header"))
                        .At(place, "a name may have letters, digits, `_`, `-` and `.`"));
    return nullptr;
  }
  for (const BodyFile& file : files) {
    if (file.source == source.string()) return &file;
    if (file.path != absl::StrCat("custom/", name)) continue;
    reporter.Report(Error(Code::kE0508, absl::StrCat("two bodies are in files called `", name, "`"))
                        .At(place, absl::StrCat("the other is ", file.source))
                        .Note("both are copied to `custom/` in the output folder")
                        .Help("rename one of the files"));
    return nullptr;
  }
  absl::StatusOr<std::string> text = ReadFile(source.string(), {.what = "C++ body", .most_bytes = kMostBodyBytes});
  if (!text.ok()) {
    reporter.Report(Error(Code::kE0114, std::string(text.status().message()))
                        .At(place, what)
                        .Note("the path starts from the folder of the file that names it"));
    return nullptr;
  }
  if (const std::optional<size_t> control = FindDirectionControl(*text)) {
    const auto line = std::count(text->begin(), text->begin() + static_cast<int64_t>(*control), '\n') + 1;
    reporter.Report(Error(Code::kE0103, absl::StrCat("the character ", DirectionControlName(*text, *control),
                                                     " in line ", line, " of ", QuotedPath(source.string()),
                                                     " changes the direction of the text behind it"))
                        .At(place, what)
                        .Note("the file would not be what it looks like")
                        .Help("remove it"));
    return nullptr;
  }
  return &files.emplace_back(BodyFile{absl::StrCat("custom/", name), source.string(), *std::move(text)});
}

bool DefinesFunction(absl::string_view text, absl::string_view name) {
  const std::string code = WithoutComments(text);
  constexpr absl::string_view kVoid = "void";
  for (size_t at = code.find(std::string(kVoid)); at != std::string::npos; at = code.find(std::string(kVoid), at + 1)) {
    if (at > 0 && IsWordCharacter(code[at - 1])) continue;
    const size_t begin = SkipSpace(code, at + kVoid.size());
    if (begin == at + kVoid.size() || code.compare(begin, name.size(), name.data(), name.size()) != 0) continue;
    const size_t end = SkipSpace(code, begin + name.size());
    if (end < code.size() && code[end] == '(') return true;
  }
  return false;
}

std::string ForwardDeclaration(const CustomOp& op) {
  std::vector<std::string> arguments = ArgumentTexts(op);
  const bool is_float = !op.syntax->result || op.syntax->result->element.text != "i32";
  arguments.push_back(absl::StrCat("View<", is_float ? "float" : "int32_t", "> result"));
  return absl::StrCat("inline void ", op.name(), "(", absl::StrJoin(arguments, ", "), ")");
}

std::string BackwardDeclaration(const CustomOp& op, const std::string& name, const std::string& argument) {
  std::vector<std::string> arguments = ArgumentTexts(op);
  arguments.insert(arguments.begin(), "View<const float> gradient");
  arguments.push_back(absl::StrCat("View<float> gradient_", argument));
  return absl::StrCat("inline void ", name, "(", absl::StrJoin(arguments, ", "), ")");
}

}  // namespace cleave::frontend
