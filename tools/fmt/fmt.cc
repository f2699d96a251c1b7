#include "tools/fmt/fmt.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "base/file/file.h"
#include "base/source/source.h"
#include "dsl/format/format.h"
#include "dsl/parse/parse.h"
#include "tools/fmt/line_diff.h"

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

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", QuotedPath(path), ": ", std::generic_category().message(error)));
}

bool WriteAll(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return false;
    done += static_cast<size_t>(std::max<ssize_t>(0, count));
  }
  return true;
}

// Puts `text` in the place of the file: the whole of it, or nothing.
absl::Status Replace(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::string target = std::filesystem::canonical(path, error).string();
  struct stat status;
  if (error || stat(target.c_str(), &status) != 0) return CannotWrite(path, error ? error.value() : errno);
  // A file that is protected stays as it is, even where its folder allows to replace it.
  if (access(target.c_str(), W_OK) != 0) return CannotWrite(path, errno);
  std::string next = target + ".XXXXXX";
  const int file = mkstemp(next.data());
  if (file < 0) return CannotWrite(path, errno);
  // Root keeps the owner. Nobody else can, and then a file of somebody else stays as it is.
  const bool keeps_owner = fchown(file, status.st_uid, status.st_gid) == 0 || status.st_uid == geteuid();
  const bool is_written = keeps_owner && WriteAll(file, text) && fchmod(file, status.st_mode & 07777) == 0 &&
                          rename(next.c_str(), target.c_str()) == 0;
  const int reason = errno;
  close(file);
  if (is_written) return absl::OkStatus();
  unlink(next.c_str());
  return CannotWrite(path, reason);
}

// Formats one file after the other; keeps the worst that happened.
class Formatter {
 public:
  Formatter(const FmtOptions& options, Streams streams) : options_(options), streams_(streams) {}

  ExitCode exit_code() const { return exit_code_; }

  void FormatFile(const std::string& path) {
    const std::optional<std::string> formatted =
        Formatted([&](SourceSet& sources, Diagnostics& found) { return dsl::LoadSource(path, sources, found); });
    if (!formatted.has_value()) return;
    // Bytes count: what is parsed has no byte order mark and no CR at the ends of lines.
    const absl::StatusOr<std::string> text = ReadFile(path, {.what = "model file", .most_bytes = dsl::kMaxSourceBytes});
    if (!text.ok()) return Report(Error(Code::kE0114, std::string(text.status().message())), ExitCode::kModelWrong);
    if (*text == *formatted) return;
    if (options_.check) return Show(path, *text, *formatted);
    const absl::Status written = Replace(path, *formatted);
    if (!written.ok()) Report(Error(Code::kE0602, std::string(written.message())), ExitCode::kEnvironment);
  }

  void FormatStandardInput() {
    const std::string text = ReadAll(streams_.in);
    const std::optional<std::string> formatted = Formatted(
        [&](SourceSet& sources, Diagnostics& found) { return dsl::AddSource(kStandardInput, text, sources, found); });
    if (!formatted.has_value()) return;
    if (!options_.check) {
      streams_.out << *formatted;
    } else if (text != *formatted) {
      Show(kStandardInput, text, *formatted);
    }
  }

 private:
  template <typename Load>
  std::optional<std::string> Formatted(const Load& load) {
    SourceSet sources;
    Diagnostics diagnostics;
    const std::optional<FileId> file = load(sources, diagnostics);
    const auto tree = file.has_value() ? dsl::Parse(*file, sources, diagnostics) : std::nullopt;
    if (tree.has_value()) return dsl::Format(*tree);
    if (options_.error_format == "json") {
      for (const Diagnostic& each : diagnostics.items()) streams_.err << RenderJson(each, sources) << "\n";
    } else {
      streams_.err << RenderText(diagnostics, sources);
    }
    Keep(ExitCode::kModelWrong);
    return std::nullopt;
  }

  void Show(const std::string& name, const std::string& text, const std::string& formatted) {
    streams_.out << "would change " << name << "\n" << LineDiff(text, formatted, name, name + " (formatted)");
    Keep(ExitCode::kDiffers);
  }

  void Report(const Diagnostic& error, ExitCode code) {
    streams_.err << (options_.error_format == "json" ? RenderJson(error, {}) + "\n" : RenderText(error, SourceSet()));
    Keep(code);
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
  if (const auto exit = Parse(app, words, FormatAskedFor(words))) {
    (exit->code == ExitCode::kDone ? streams.out : streams.err) << exit->text;
    return exit->code;
  }
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
