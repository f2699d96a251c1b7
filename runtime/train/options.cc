#include "runtime/train/options.h"

#include <errno.h>

#include <cstdlib>
#include <cstring>

namespace cleave::runtime {
namespace {

Error UsageError(const char* program, bool generates, const std::string& message) {
  return {ExitCode::kUsage, message + "\n" + Usage(program, generates)};
}

// A whole number that is at least `least`; nullopt for anything else.
std::optional<int64_t> ParseNumber(const std::string& text, int64_t least) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || value < least) return std::nullopt;
  return value;
}

}  // namespace

std::string Usage(const std::string& program, bool generates) {
  if (generates) {
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
           "  --end TOKEN         the token that ends a text, as the tokenizer names it\n"
           "  --tokenizer PATH    the tokenizer, or the text whose bytes are tokens, instead of where the model says\n"
           "  --seed S            of what is drawn\n"
           "  --out DIR           folder of run.json\n"
           "  --quiet             no output but the texts and errors";
  }
  return "usage: " + program +
         " [flags]\n"
         "  --steps K      stop after K steps\n"
         "  --epochs K     stop after K epochs\n"
         "  --seed S       of initial values and the order of samples\n"
         "  --log-every K  steps between two lines; 0: none\n"
         "  --log-ranks R  which ranks print lines: 0 (the default) or all\n"
         "  --out DIR      folder of metrics.jsonl and run.json\n"
         "  --data PATH    the data, instead of where the model says\n"
         "  --params PATH  first values of parameters: a safetensors file, a checkpoint, or a folder of them\n"
         "  --eval-every K steps between two evaluations; 0: after each epoch\n"
         "  --checkpoint-every K\n"
         "                 steps between two checkpoints; 0: none\n"
         "  --keep K       how many checkpoints are kept\n"
         "  --checkpoints DIR\n"
         "                 their folder, instead of `checkpoints` in that of run.json\n"
         "  --resume [DIR] go on from the last good checkpoint of the folder, or of DIR, or from DIR itself\n"
         "  --quiet        no output but errors";
}

Result<Options> ParseOptions(int argc, const char* const* argv, bool generates) {
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
    // --flag VALUE or --flag=VALUE.
    std::optional<std::string> value;
    const size_t equals = flag.find('=');
    if (equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    if (flag == "--resume" && !generates) {
      const bool follows = !value.has_value() && i + 1 < argc && argv[i + 1][0] != '-';
      options.resume = follows ? argv[++i] : value.value_or("");
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
                              {"--seed", 0, &seed}};
    const Number* number = nullptr;
    for (const Number& candidate : numbers) {
      if (flag == candidate.flag) number = &candidate;
    }
    const bool is_text =
        flag == "--out" || flag == "--data" || flag == "--params" || flag == "--log-ranks" || flag == "--checkpoints";
    const bool is_other = generates && flag != "--out" && flag != "--params" && flag != "--seed";
    if (number == nullptr && !is_text && !is_other)
      return UsageError(argv[0], generates, "unknown flag `" + flag + "`");
    if (!value.has_value()) {
      if (i + 1 == argc) return UsageError(argv[0], generates, "`" + flag + "` needs a value");
      value = argv[++i];
    }
    if (is_other) {
      options.others.push_back({flag, *value});
    } else if (number != nullptr) {
      *number->target = ParseNumber(*value, number->least);
      if (!number->target->has_value()) {
        return UsageError(argv[0], generates,
                          Format("`%s` is `%s`, and must be a whole number of at least %d", flag.c_str(),
                                 value->c_str(), static_cast<int>(number->least)));
      }
      if (seed.has_value()) options.seed = static_cast<uint64_t>(*seed);
    } else if (value->empty()) {
      return UsageError(argv[0], generates, "`" + flag + "` needs a value");
    } else if (flag == "--log-ranks") {
      if (*value != "0" && *value != "all") {
        return UsageError(argv[0], generates, Format("`--log-ranks` is `%s`, and must be 0 or all", value->c_str()));
      }
      options.log_all_ranks = *value == "all";
    } else if (flag == "--out") {
      options.out = *value;
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
        argv[0], generates,
        "`--params` begins anew with parameters alone, and `--resume` goes on from a checkpoint: give one");
  }
  return options;
}

}  // namespace cleave::runtime
