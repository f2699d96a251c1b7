#include "tools/fmt/fmt.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/format/format.h"
#include "dsl/parse/parse.h"
#include "tools/fmt/line_diff.h"
#include "tools/fmt/replace_file.h"

namespace cleave::tools {
namespace {

constexpr char kStandardInput[] = "standard input";

struct FmtOptions {
  std::vector<std::string> files;
  bool check = false;
  std::string error_format;
};

void AddOptions(CLI::App& app, FmtOptions& options) {
  SetValue(app.add_option("FILE", options.files, "Model files; `-` or none: standard input to standard output"),
           "FILE.model");
  app.add_flag("--check", options.check, "Write nothing; print what would change, and exit with 1 if anything would");
  SetValue(app.add_option("--error-format", options.error_format, "json: one object a line (default: text)"),
           "text|json");
}

std::string ReadAll(std::istream& in) {
  std::string text;
  char chunk[1 << 16];
  while (text.size() <= static_cast<size_t>(dsl::kMaxSourceBytes) && (in.read(chunk, sizeof(chunk)), in.gcount() > 0)) {
    text.append(chunk, static_cast<size_t>(in.gcount()));
  }
  return text;
}

// Formats one file after the other; keeps the worst that happened.
class Formatter {
 public:
  Formatter(const FmtOptions& options, Streams streams) : options_(options), streams_(streams) {}

  ExitCode exit_code() const { return exit_code_; }

  void FormatFile(const std::string& path) {
    SourceSet sources;
    Diagnostics diagnostics;
    const std::optional<std::string> text = dsl::ReadSource(path, diagnostics);
    if (!text.has_value()) return Report(diagnostics, sources);
    const std::optional<std::string> formatted = Formatted(path, *text);
    // Bytes count: what is parsed has no byte order mark and no CR at the ends of lines.
    if (!formatted.has_value() || *text == *formatted) return;
    if (options_.check) return Show(path, *text, *formatted);
    const absl::Status written = ReplaceFile(path, *text, *formatted);
    if (written.ok()) return;
    diagnostics.Add(Error(Code::kE0602, std::string(written.message())));
    Report(diagnostics, sources, ExitCode::kEnvironment);
  }

  void FormatStandardInput() {
    const std::string text = ReadAll(streams_.in);
    const std::optional<std::string> formatted = Formatted(kStandardInput, text);
    if (!formatted.has_value()) return;
    if (!options_.check) {
      streams_.out << *formatted;
    } else if (text != *formatted) {
      Show(kStandardInput, text, *formatted);
    }
  }

 private:
  std::optional<std::string> Formatted(const std::string& path, const std::string& text) {
    SourceSet sources;
    Diagnostics diagnostics;
    const std::optional<FileId> file = dsl::AddSource(path, text, sources, diagnostics);
    const auto tree = file.has_value() ? dsl::Parse(*file, sources, diagnostics) : std::nullopt;
    if (tree.has_value()) return dsl::Format(*tree);
    Report(diagnostics, sources);
    return std::nullopt;
  }

  void Report(const Diagnostics& diagnostics, const SourceSet& sources, ExitCode code = ExitCode::kModelWrong) {
    const ErrorFormat format = options_.error_format == "json" ? ErrorFormat::kJson : ErrorFormat::kText;
    streams_.err << DiagnosticsText(format, diagnostics, sources);
    Keep(code);
  }

  void Show(const std::string& name, const std::string& text, const std::string& formatted) {
    streams_.out << "would change " << name << "\n" << LineDiff(text, formatted, name, name + " (formatted)");
    Keep(ExitCode::kDiffers);
  }

  void Keep(ExitCode code) { exit_code_ = std::max(exit_code_, code); }

  const FmtOptions& options_;
  Streams streams_;
  ExitCode exit_code_ = ExitCode::kDone;
};

}  // namespace

void DescribeFmt(CLI::App& app) { AddOptions(app, *new FmtOptions); }

ExitCode RunFmt(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                Streams streams) {
  FmtOptions options;
  CLI::App app(summary, name);
  AddOptions(app, options);
  if (const auto exit = Parse(app, words, FormatAskedFor(words))) return Print(*exit, streams.out, streams.err);
  if (options.files.empty()) options.files.push_back("-");
  Formatter formatter(options, streams);
  for (const std::string& file : options.files) {
    if (file == "-") {
      formatter.FormatStandardInput();
    } else {
      formatter.FormatFile(file);
    }
  }
  return formatter.exit_code();
}

}  // namespace cleave::tools
