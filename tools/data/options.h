// Private to tools/data: what the command line asks for.
#ifndef CLEAVE_TOOLS_DATA_OPTIONS_H_
#define CLEAVE_TOOLS_DATA_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::tools {

struct DataOptions {
  std::string action;
  std::vector<std::string> sources;
  std::string tokenizer, out, error_format;
  // chat and pairs
  int64_t seq = 0;
  std::string too_long = "truncate";
  double test = 0;
  int64_t seed = 0;
  bool no_pack = false, skip_bad = false;
  std::vector<std::string> ignored;
  std::string date;
  // tokenize
  std::string text_key = "text";
  std::string end;  // Empty: the tokenizer's eos_token.
  int64_t shard_tokens = 0;
  bool force = false;
  // show
  int64_t count = 3;

  bool MakesPairs() const { return action == "pairs"; }
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_OPTIONS_H_
