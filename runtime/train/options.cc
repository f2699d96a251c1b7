#include "runtime/train/options.h"

#include <errno.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace cleave::runtime {
namespace {

// Up to which powers of ten the learning rate is looked at, as the compiler does.
constexpr double kLastStep = 1e9;

struct FlagText {
  std::string flag;  // "--steps K"
  std::string text;
};

std::string Whole(int64_t number) { return "; default " + std::to_string(number); }

// Whether a number has a flag of its own name besides `--set`.
bool HasFlag(const std::string& number) { return number.find('.') == std::string::npos; }

std::vector<FlagText> TrainingFlags(const TrainingSettings& settings) {
  std::vector<FlagText> flags = {
      {"--steps K", settings.steps > 0 ? "stop after K steps" + Whole(settings.steps) : "stop after K steps"},
      {"--epochs K", "stop after K epochs" + Whole(settings.epochs)},
      {"--seed S", Format("of initial values and the order of samples; default %" PRIu64, settings.seed)},
      {"--log-every K", "steps between two lines; 0: none" + Whole(settings.log_every)},
      {"--log-ranks R",
       "which ranks print lines: 0 or all (default: 0; where run.sh starts at most 16, all into their logs)"},
      {"--out DIR", "folder of metrics.jsonl and run.json"},
      {"--tensorboard DIR", "folder of a file of the losses and all other curves, for TensorBoard"},
      {"--data PATH", "the data, instead of where the model says"},
      {"--params PATH", "first values of parameters: a safetensors file, a checkpoint, or a folder of them"},
      {"--partial", "it may lack parameters of the model, and have tensors that the model has not"},
      {"--eval-every K", "steps between two evaluations; 0: after each epoch" + Whole(settings.evaluate_every)},
      {"--checkpoint-every K", "steps between two checkpoints; 0: none" + Whole(settings.checkpoint_every)},
      {"--keep K", "how many checkpoints are kept" + Whole(settings.keep_checkpoints)},
      {"--checkpoints DIR", "their folder, instead of `checkpoints` in that of run.json"},
      {"--resume [DIR]", "go on from the last good checkpoint of the folder, or of DIR, or from DIR itself"},
      {"--auto-resume", "go on from that of the folder, if there is one; else begin as without this flag"},
      {"--threads N", "threads of each rank, instead of its share of the cores"},
      {"--profile [FILE]", "where the time of a step goes, and each op of the first ones in FILE, a Chrome trace"},
      {"--quiet", "no output but errors"}};
  if (!settings.best.measure.empty()) {
    flags.push_back({"--patience K", "evaluations without a better one, after which training stops; 0: it does not" +
                                         Whole(settings.patience)});
  }
  std::string others;
  for (const NamedNumber& number : settings.numbers) {
    const std::string value = Format("%.9g", *number.place);
    if (!HasFlag(number.name)) {
      others += (others.empty() ? "" : ", ") + number.name + "=" + value;
    } else {
      const std::string where = number.name == "lr" ? "in `" + settings.schedule + "`; " : "";
      flags.push_back({"--" + number.name + " X", where + "default " + value});
    }
  }
  if (!others.empty()) flags.push_back({"--set NAME=X", "another number of the model; defaults " + others});
  return flags;
}

// How many characters must be changed, inserted or left out to make one text of the other.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

Error UsageError(const char* program, const TrainingSettings& settings, const std::string& message) {
  return {ExitCode::kUsage, message + "\n" + Usage(program, settings)};
}

// "; did you mean `--seed`?", or nothing where no name is like that.
std::string NearestText(const std::string& wrong, const std::vector<std::string>& names) {
  std::string nearest;
  size_t least = 3;  // What is further away is no slip of the pen.
  for (const std::string& name : names) {
    const size_t distance = EditDistance(wrong, name);
    if (distance == 0 || distance >= least) continue;  // `--quiet=1` is written right, and takes no value.
    least = distance;
    nearest = name;
  }
  return nearest.empty() ? "" : "; did you mean `" + nearest + "`?";
}

Error UnknownFlag(const char* program, const TrainingSettings& settings, const std::string& flag) {
  std::vector<std::string> names;
  for (const FlagText& known : TrainingFlags(settings)) names.push_back(known.flag.substr(0, known.flag.find(' ')));
  return UsageError(program, settings, "unknown flag `" + flag + "`" + NearestText(flag, names));
}

Error UnknownNumber(const char* program, const TrainingSettings& settings, const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const NamedNumber& number : settings.numbers) {
    names.push_back(number.name);
    all += (all.empty() ? "`" : ", `") + number.name + "`";
  }
  const std::string nearest = NearestText(name, names);
  return UsageError(program, settings,
                    "`--set` changes no `" + name + "`" + (nearest.empty() ? "; there is " : nearest + " There is ") +
                        (all.empty() ? "no number that it changes" : all));
}

// A whole number that is at least `least`; nullopt for anything else.
std::optional<int64_t> ParseNumber(const std::string& text, int64_t least) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || value < least) return std::nullopt;
  return value;
}

// A finite number; nullopt for anything else.
std::optional<double> ParseReal(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0' && std::abs(value) <= std::numeric_limits<double>::max();
  return is_number ? std::optional<double>(value) : std::nullopt;
}

}  // namespace

std::string Usage(const std::string& program, const TrainingSettings& settings) {
  if (settings.mode == Mode::kGenerate) {
    return "usage: " + program +
           " [flags]\n"
           "  --params PATH       the parameters: a safetensors file, a checkpoint, or a folder of them\n"
           "  --prompt TEXT       a text that is continued; may be repeated\n"
           "  --prompt-file FILE  the same, read from a file\n"
           "  --samples N         continuations of each text; default 1\n"
           "  --length N          new tokens of each; default: as many as the model has places for\n"
           "  --temperature X     divides the logits; 0 takes the likeliest token; default 1\n"
           "  --top-k N           draws from the N likeliest tokens; 0, the default: from all\n"
           "  --top-p X           draws from the likeliest tokens that together have this probability; default 1\n"
           "  --end TOKEN         a token that ends a text, as the tokenizer names it; may be repeated\n"
           "  --stop TEXT         a text that ends a continuation, and is not shown; may be repeated\n"
           "  --chat              a conversation: what is read from standard input, line by line, is answered\n"
           "  --system TEXT       its first message\n"
           "  --drop-oldest       forgets its oldest turns where the model has too few places for it\n"
           "  --chat-file FILE    answers requests, one a line, in lines; - is standard input\n"
           "  --tokenizer PATH    the tokenizer, or the text whose bytes are tokens, instead of where the model says\n"
           "  --seed S            of what is drawn\n"
           "  --out DIR           folder of run.json\n"
           "  --threads N         threads of each rank, instead of its share of the cores\n"
           "  --profile [FILE]    where the time of a step goes, and each op of the first ones in FILE, a Chrome "
           "trace\n"
           "  --quiet             no output but the texts and errors";
  }
  std::string text = "usage: " + program + " [flags]";
  constexpr size_t kColumn = 15;
  for (const FlagText& flag : TrainingFlags(settings)) {
    const size_t used = flag.flag.size();
    const std::string space = used < kColumn ? std::string(kColumn - used, ' ') : "\n" + std::string(kColumn + 2, ' ');
    text += "\n  " + flag.flag + space + flag.text;
  }
  return text;
}

Result<Options> ParseOptions(int argc, const char* const* argv, const TrainingSettings& settings) {
  const bool generates = settings.mode == Mode::kGenerate;
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--quiet") {
      options.quiet = true;
      continue;
    }
    if (flag == "--help") {
      options.help = true;
      continue;
    }
    if (flag == "--auto-resume") {
      options.auto_resume = true;
      continue;
    }
    if (!generates && flag == "--partial") {
      options.partial = true;
      continue;
    }
    if (generates && (flag == "--chat" || flag == "--drop-oldest")) {
      options.others.push_back({flag, ""});
      continue;
    }
    // --flag VALUE or --flag=VALUE.
    std::optional<std::string> value;
    const size_t equals = flag.find('=');
    if (equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    if ((flag == "--resume" && !generates) || flag == "--profile") {
      const bool follows = !value.has_value() && i + 1 < argc && argv[i + 1][0] != '-';
      (flag == "--resume" ? options.resume : options.profile) = follows ? argv[++i] : value.value_or("");
      continue;
    }
    struct Number {
      const char* flag;
      int64_t least;
      std::optional<int64_t>* target;
    };
    std::optional<int64_t> seed;
    const Number numbers[] = {{"--steps", 1, &options.steps},
                              {"--epochs", 1, &options.epochs},
                              {"--log-every", 0, &options.log_every},
                              {"--checkpoint-every", 0, &options.checkpoint_every},
                              {"--keep", 1, &options.keep},
                              {"--eval-every", 0, &options.evaluate_every},
                              {"--patience", 0, &options.patience},
                              {"--threads", 1, &options.threads},
                              {"--seed", 0, &seed}};
    const Number* number = nullptr;
    for (const Number& candidate : numbers) {
      if (flag == candidate.flag) number = &candidate;
    }
    const bool is_text = flag == "--out" || flag == "--data" || flag == "--params" || flag == "--log-ranks" ||
                         flag == "--checkpoints" || (flag == "--tensorboard" && settings.mode == Mode::kTrain);
    const bool is_other = generates && flag != "--out" && flag != "--params" && flag != "--seed" && flag != "--threads";
    if (flag == "--patience" && settings.best.measure.empty()) number = nullptr;
    const auto named = [&](const std::string& name) {
      return std::any_of(settings.numbers.begin(), settings.numbers.end(),
                         [&](const NamedNumber& known) { return known.name == name; });
    };
    bool is_real = flag.rfind("--", 0) == 0 && HasFlag(flag) && named(flag.substr(2));
    const bool is_set = flag == "--set" && !generates;
    if (number == nullptr && !is_text && !is_other && !is_real && !is_set) return UnknownFlag(argv[0], settings, flag);
    if (!value.has_value()) {
      if (i + 1 == argc) return UsageError(argv[0], settings, "`" + flag + "` needs a value");
      value = argv[++i];
    }
    if (is_set) {
      const size_t end = value->find('=');
      const std::string name = value->substr(0, end);
      if (end == std::string::npos) return UsageError(argv[0], settings, "`--set` takes NAME=X, not `" + *value + "`");
      for (const auto& [fixed, number] : settings.fixed) {
        if (fixed != name) continue;
        return UsageError(argv[0], settings,
                          Format("`%s` is %.9g in this program, which decides what it computes: compile the model "
                                 "again for another number",
                                 name.c_str(), number));
      }
      if (!named(name)) return UnknownNumber(argv[0], settings, name);
      flag = "--" + name;
      value = value->substr(end + 1);
      is_real = true;
    }
    if (is_other) {
      options.others.push_back({flag, *value});
    } else if (is_real) {
      const std::optional<double> real = ParseReal(*value);
      if (!real.has_value()) {
        return UsageError(argv[0], settings,
                          Format("`%s` is `%s`, and must be a finite number", (is_set ? flag.substr(2) : flag).c_str(),
                                 value->c_str()));
      }
      options.numbers.emplace_back(flag.substr(2), *real);
    } else if (number != nullptr) {
      *number->target = ParseNumber(*value, number->least);
      if (!number->target->has_value()) {
        return UsageError(argv[0], settings,
                          Format("`%s` is `%s`, and must be a whole number of at least %d", flag.c_str(),
                                 value->c_str(), static_cast<int>(number->least)));
      }
      if (seed.has_value()) options.seed = static_cast<uint64_t>(*seed);
    } else if (value->empty()) {
      return UsageError(argv[0], settings, "`" + flag + "` needs a value");
    } else if (flag == "--log-ranks") {
      if (*value != "0" && *value != "all") {
        return UsageError(argv[0], settings, Format("`--log-ranks` is `%s`, and must be 0 or all", value->c_str()));
      }
      options.log_all_ranks = *value == "all";
    } else if (flag == "--out") {
      options.out = *value;
    } else if (flag == "--tensorboard") {
      options.tensorboard = *value;
    } else if (flag == "--params") {
      options.params = *value;
    } else if (flag == "--checkpoints") {
      options.checkpoints = *value;
    } else {
      options.data = *value;
    }
  }
  if (options.params.has_value() && options.resume.has_value()) {
    return UsageError(
        argv[0], settings,
        "`--params` begins anew with parameters alone, and `--resume` goes on from a checkpoint: give one");
  }
  return options;
}

namespace {

// The text with numbers in place of their names in braces.
std::string WithNumbers(std::string text, const TrainingSettings& settings) {
  for (const NamedNumber& number : settings.numbers) {
    const std::string name = "{" + number.name + "}";
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, name.size(), Format("%.9g", *number.place));
    }
  }
  return text;
}

}  // namespace

std::optional<Error> SetNumbers(const Options& options, TrainingSettings& settings) {
  for (const auto& [name, value] : options.numbers) {
    for (const NamedNumber& number : settings.numbers) {
      if (number.name != name) continue;
      *number.place = value;
      if (name == "lr") settings.schedule += Format(", --lr %.9g", value);
    }
  }
  if (options.numbers.empty()) return std::nullopt;
  for (const NumberDemand& demand : settings.demands) {
    if (!demand.holds()) return Error{ExitCode::kUsage, WithNumbers(demand.otherwise, settings)};
  }
  for (double step = 1; step <= kLastStep; step *= 10) {
    const double rate = settings.learning_rate(step);
    if (rate >= 0 && rate <= static_cast<double>(std::numeric_limits<float>::max())) continue;
    return Error{ExitCode::kUsage, Format("the learning rate must be 0 or more, and is %.9g at step %.0f: `%s`", rate,
                                          step, settings.schedule.c_str())};
  }
  return std::nullopt;
}

std::string FlagsText(const Options& options) {
  std::string text;
  const auto add = [&](const char* flag, const auto& value) {
    if (value.has_value()) text += Format("%s--%s %lld", text.empty() ? "" : " ", flag, static_cast<long long>(*value));
  };
  add("steps", options.steps);
  add("epochs", options.epochs);
  add("seed", options.seed);
  add("log-every", options.log_every);
  add("eval-every", options.evaluate_every);
  add("patience", options.patience);
  add("checkpoint-every", options.checkpoint_every);
  add("keep", options.keep);
  // Ranks gather what they have measured.
  if (options.profile.has_value()) {
    text += Format("%s--profile%s%s", text.empty() ? "" : " ", options.profile->empty() ? "" : " ",
                   options.profile->c_str());
  }
  for (const auto& [name, value] : options.numbers) {
    const bool has_flag = HasFlag(name);
    text += Format("%s--%s%s%s%.17g", text.empty() ? "" : " ", has_flag ? "" : "set ", name.c_str(),
                   has_flag ? " " : "=", value);
  }
  return text.empty() ? "no such flag" : text;
}

}  // namespace cleave::runtime
