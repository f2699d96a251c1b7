// The flags of a program that generates.
#include <cerrno>
#include <cstdlib>

#include "runtime/file/file.h"
#include "runtime/generate/generate.h"  // IWYU pragma: associated

namespace cleave::runtime {
namespace {

Error Wrong(const Flag& flag, const char* what) {
  return {ExitCode::kUsage, Format("`%s` is `%s`, and must be %s", flag.name.c_str(), flag.value.c_str(), what)};
}

std::optional<int64_t> WholeNumber(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0) return std::nullopt;
  return value;
}

std::optional<double> Number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

// Reads one flag.
std::optional<Error> Read(const Flag& flag, GenerationOptions& options) {
  const std::optional<int64_t> count = WholeNumber(flag.value);
  const std::optional<double> number = Number(flag.value);
  if (flag.name == "--prompt") {
    options.prompts.push_back(flag.value);
  } else if (flag.name == "--prompt-file") {
    const Result<std::vector<uint8_t>> text = ReadFile(flag.value);
    if (!text.ok()) return text.error();
    options.prompts.emplace_back(text.value().begin(), text.value().end());
  } else if (flag.name == "--samples") {
    constexpr int64_t kMost = 1000000;
    if (!count.has_value() || *count < 1 || *count > kMost) return Wrong(flag, "a whole number from 1 to 1000000");
    options.samples = *count;
  } else if (flag.name == "--length") {
    if (!count.has_value() || *count < 1) return Wrong(flag, "a whole number of at least 1");
    options.length = count;
  } else if (flag.name == "--top-k") {
    if (!count.has_value()) return Wrong(flag, "a whole number of at least 0");
    options.sampling.top_k = *count;
  } else if (flag.name == "--temperature") {
    if (!number.has_value()) return Wrong(flag, "a number of at least 0");
    options.sampling.temperature = *number;
  } else if (flag.name == "--top-p") {
    if (!number.has_value()) return Wrong(flag, "a number above 0 and at most 1");
    options.sampling.top_p = *number;
  } else if (flag.name == "--end") {
    options.ends.push_back(flag.value);
  } else if (flag.name == "--stop") {
    if (flag.value.empty()) return Wrong(flag, "a text");
    options.stops.push_back(flag.value);
  } else if (flag.name == "--tokenizer") {
    options.tokenizer = flag.value;
  } else if (flag.name == "--chat") {
    options.chats = true;
  } else if (flag.name == "--system") {
    options.system = flag.value;
  } else if (flag.name == "--drop-oldest") {
    options.drops_oldest = true;
  } else if (flag.name == "--chat-file") {
    if (flag.value.empty()) return Wrong(flag, "a file of requests, or `-` for standard input");
    options.chat_file = flag.value;
  } else {
    return Error{ExitCode::kUsage, "unknown flag `" + flag.name + "`"};
  }
  return std::nullopt;
}

}  // namespace

Result<GenerationOptions> ParseGeneration(const std::vector<Flag>& flags) {
  GenerationOptions options;
  for (const Flag& flag : flags) {
    if (std::optional<Error> error = Read(flag, options)) return *error;
  }
  if (std::optional<Error> error = CheckSampling(options.sampling)) return *error;
  const int ways = (options.prompts.empty() ? 0 : 1) + (options.chats ? 1 : 0) + (options.chat_file.empty() ? 0 : 1);
  if (ways == 0) {
    return Error{ExitCode::kUsage,
                 "there is nothing to continue: `--prompt TEXT`, `--prompt-file FILE`, `--chat` or `--chat-file FILE`"};
  }
  if (ways > 1) {
    return Error{ExitCode::kUsage, "`--chat`, `--chat-file` and prompts do not go together: give one"};
  }
  if (options.samples > 1 && options.prompts.empty()) {
    return Error{ExitCode::kUsage, "`--samples` goes with prompts: a conversation has one answer"};
  }
  if (!options.chats && (options.drops_oldest || !options.system.empty())) {
    return Error{ExitCode::kUsage, "`--system` and `--drop-oldest` go with `--chat`"};
  }
  return options;
}

}  // namespace cleave::runtime
