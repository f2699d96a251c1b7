#include "runtime/tokenizer/pcre2/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <utility>

#include "runtime/tokenizer/pcre2/dialect.h"

namespace cleave::runtime {
namespace {

std::string Pcre2Message(int code) {
  PCRE2_UCHAR message[256] = {};
  pcre2_get_error_message(code, message, sizeof message);
  return reinterpret_cast<const char*>(message);
}

PCRE2_SPTR Pcre2Text(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct Regex::Compiled {
  explicit Compiled(pcre2_code* compiled_code) : code(compiled_code) {}
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;

  pcre2_code* const code;
};

Result<Regex> Regex::Compile(const std::string& expression) {
  const Result<std::string> translated = ForPcre2(expression);
  if (!translated.ok()) return translated.error();
  Result<Regex> regex = CompileAs(translated.value(), false);
  if (!regex.ok()) return regex;
  uint32_t matches_nothing = 0;
  pcre2_pattern_info(regex.value().compiled_->code, PCRE2_INFO_MATCHEMPTY, &matches_nothing);
  if (matches_nothing == 0) return regex;
  return Error{ExitCode::kInput,
               Format("has the regular expression `%s`, which can match nothing at all", expression.c_str())};
}

Result<Regex> Regex::Literal(const std::string& text) { return CompileAs(text, true); }

Result<Regex> Regex::CompileAs(const std::string& expression, bool is_literal) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options = PCRE2_UTF | (is_literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
  pcre2_code* const compiled =
      pcre2_compile(Pcre2Text(expression), expression.size(), options, &code, &offset, nullptr);
  if (compiled != nullptr) {
    // Machine code is some times as fast. Where there is none, matching goes on as before.
    pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
    return Regex(std::make_shared<const Compiled>(compiled));
  }
  return Error{ExitCode::kInput, Format("has the regular expression `%s`, wrong at byte %zu: %s", expression.c_str(),
                                        offset, Pcre2Message(code).c_str())};
}

Result<std::vector<Regex::Match>> Regex::FindAll(const std::string& text) const {
  const std::unique_ptr<pcre2_match_data, FreeMatchData> data(
      pcre2_match_data_create_from_pattern(compiled_->code, nullptr));
  std::vector<Match> matches;
  size_t at = 0;
  while (at < text.size()) {
    // The caller has checked the text: PCRE2 would check all of it again for each match.
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    const auto match = [&](uint32_t more) {
      return pcre2_match(compiled_->code, Pcre2Text(text), text.size(), at, options | more, data.get(), nullptr);
    };
    int found = match(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      return Error{ExitCode::kInput, Format("has a regular expression that cannot be matched at byte %zu of a text: %s",
                                            at, Pcre2Message(found).c_str())};
    }
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(data.get());
    matches.push_back({bounds[0], bounds[1]});
    at = bounds[1];
  }
  return matches;
}

}  // namespace cleave::runtime
