#include "tools/data/data.h"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "tools/data/chat.h"
#include "tools/data/options.h"
#include "tools/data/show.h"
#include "tools/data/tokenize.h"

namespace cleave::tools {
namespace {

constexpr int64_t kLongestRow = int64_t{1} << 24;
constexpr int64_t kShardTokens = 100'000'000;

void AddDataOptions(CLI::App& app, DataOptions& options) {
  SetValue(app.add_option("ACTION", options.action,
                          "chat: conversations to rows of tokens and labels; pairs: preferred and rejected answers to "
                          "the same; tokenize: texts to files of tokens; show: rows of a folder of `chat` or `pairs`")
               ->required(),
           "chat|pairs|tokenize|show");
  SetValue(
      app.add_option("SOURCE", options.sources,
                     "chat, pairs: files of a JSON object a line; tokenize: these, or plain texts; all also compressed "
                     "by gzip or zstd; show: a folder that `chat` or `pairs` has made")
          ->required(),
      "FILE");
  SetValue(app.add_option("--tokenizer", options.tokenizer,
                          "A folder of Hugging Face with a tokenizer.json (show: default as it was made)"),
           "FOLDER|FILE.json");
  SetValue(app.add_option("--out", options.out,
                          "chat, pairs: the folder to make; tokenize: what the names of files begin with"),
           "FOLDER");
  SetValue(app.add_option("--seq", options.seq, "chat, pairs: how many tokens a row has")
               ->check(WholeNumber(2, kLongestRow)),
           "N");
  SetValue(app.add_option("--long", options.too_long,
                          "chat, pairs: what to do with samples that are longer than a row (default: truncate)"),
           "truncate|drop|split|error");
  app.add_flag("--no-pack", options.no_pack, "chat: one sample a row (default: as many as fit)");
  const auto is_share = [](const std::string& text) -> std::string {
    double value = 0;
    if (absl::SimpleAtod(text, &value) && value >= 0 && value < 1) return "";
    return absl::StrCat("`", text, "` is not a number of at least 0 and less than 1");
  };
  SetValue(app.add_option("--test", options.test,
                          "chat, pairs: the share of samples that the folder `test` within gets (default: 0)")
               ->check(CLI::Validator(is_share, "")),
           "SHARE");
  SetValue(app.add_option("--seed", options.seed, "chat, pairs: draws the samples for testing (default: 0)")
               ->check(WholeNumber(0)),
           "N");
  app.add_flag("--skip-bad", options.skip_bad,
               "chat, pairs: leave out lines that are no sample, and say which (default: an error)");
  SetValue(app.add_option("--ignore", options.ignored,
                          "chat, pairs: a key of lines or messages to pass over; may be repeated")
               ->allow_extra_args(false),
           "KEY");
  const auto is_date = [](const std::string& text) -> std::string {
    std::tm date = {};
    const char* const end = strptime(text.c_str(), "%Y-%m-%d", &date);
    return end != nullptr && *end == '\0' ? "" : absl::StrCat("`", text, "` is no date such as 2024-07-26");
  };
  SetValue(app.add_option("--date", options.date, "chat, pairs: what a chat template that asks for the date gets")
               ->check(CLI::Validator(is_date, "")),
           "YYYY-MM-DD");
  SetValue(app.add_option("--text-key", options.text_key, "tokenize: the key of the text in a line (default: text)"),
           "KEY");
  SetValue(app.add_option(
               "--end", options.end,
               "tokenize: the token behind each document (default: what the tokenizer puts there, or its eos_token)"),
           "TOKEN");
  SetValue(app.add_option("--shard-tokens", options.shard_tokens,
                          "tokenize: how many tokens a file has (default: 100000000)")
               ->check(WholeNumber(1)),
           "N");
  app.add_flag("--force", options.force, "tokenize: replace files of an earlier run");
  SetValue(app.add_option("--count", options.count, "show: how many rows to print (default: 3)")->check(WholeNumber(0)),
           "N");
  SetValue(app.add_option("--error-format", options.error_format, "json: one object a line (default: text)"),
           "text|json");
}

// What an action does not take, or lacks; empty: nothing.
std::string MistakeIn(const CLI::App& app, const DataOptions& options) {
  const std::string& action = options.action;
  const std::vector<std::pair<std::string, std::string>> takes = {
      {"--out", "chat pairs tokenize"}, {"--seq", "chat pairs"},
      {"--long", "chat pairs"},         {"--no-pack", "chat"},
      {"--test", "chat pairs"},         {"--seed", "chat pairs"},
      {"--skip-bad", "chat pairs"},     {"--ignore", "chat pairs"},
      {"--date", "chat pairs"},         {"--force", "tokenize"},
      {"--text-key", "tokenize"},       {"--end", "tokenize"},
      {"--shard-tokens", "tokenize"},   {"--count", "show"}};
  for (const auto& [option, actions] : takes) {
    if (app.count(option) > 0 && !absl::StrContains(actions, action)) {
      return absl::StrCat("`", action, "` takes no `", option, "`");
    }
  }
  if (action == "show") return options.sources.size() > 1 ? absl::StrCat("unexpected `", options.sources[1], "`") : "";
  if (options.tokenizer.empty()) return absl::StrCat("`", action, "` needs `--tokenizer`");
  if (options.out.empty()) return absl::StrCat("`", action, "` needs `--out`");
  if (action == "tokenize") return "";
  if (options.MakesPairs() && options.too_long == "split") return "`pairs` takes no `--long split`";
  return options.seq == 0 ? absl::StrCat("`", action, "` needs `--seq`") : "";
}

ExitCode CodeOf(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    if (diagnostic.severity != Severity::kError) continue;
    const bool is_outside = diagnostic.code == Code::kE0601 || diagnostic.code == Code::kE0602;
    return is_outside ? ExitCode::kEnvironment : ExitCode::kModelWrong;
  }
  return ExitCode::kDone;
}

}  // namespace

void DescribeData(CLI::App& app) { AddDataOptions(app, *new DataOptions); }

ExitCode RunData(const std::string& name, const std::string& summary, const std::vector<std::string>& words,
                 std::ostream& out, std::ostream& err) {
  DataOptions options;
  options.shard_tokens = kShardTokens;
  CLI::App app(summary, name);
  AddDataOptions(app, options);
  const ErrorFormat format = FormatAskedFor(words);
  if (const auto exit = Parse(app, words, format)) return Print(*exit, out, err);
  const std::string mistake = MistakeIn(app, options);
  if (!mistake.empty()) return Print(UsageError(format, mistake), out, err);
  SourceSet sources;
  Diagnostics diagnostics;
  std::optional<Diagnostic> error;
  if (options.action == "chat" || options.MakesPairs()) {
    MakeChatData(options, sources, diagnostics, out);
  } else if (options.action == "tokenize") {
    error = TokenizeTexts(options, out);
  } else {
    error = ShowData(options, &out == &std::cout && isatty(STDOUT_FILENO) != 0, out);
  }
  if (error.has_value()) diagnostics.Add(*std::move(error));
  err << DiagnosticsText(format, diagnostics, sources);
  return CodeOf(diagnostics);
}

}  // namespace cleave::tools
