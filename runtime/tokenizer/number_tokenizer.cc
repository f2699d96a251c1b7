#include "runtime/tokenizer/number_tokenizer.h"

#include <cctype>
#include <cinttypes>
#include <cstdlib>
#include <limits>

namespace cleave::runtime {
namespace {

class NumberTokenizer final : public Tokenizer {
 public:
  explicit NumberTokenizer(int64_t size) : size_(size) {}

  int64_t size() const override { return size_; }

  Result<std::vector<int32_t>> Encode(const std::string& text) const override {
    std::vector<int32_t> tokens;
    for (const char* at = text.c_str(); *at != '\0';) {
      if (std::isspace(static_cast<unsigned char>(*at)) != 0) {
        ++at;
        continue;
      }
      const char* end = at;
      while (*end != '\0' && std::isspace(static_cast<unsigned char>(*end)) == 0) ++end;
      const std::string word(at, end);
      const std::optional<int32_t> token = Find(word);
      if (!token.has_value()) return IsNone(word);
      tokens.push_back(*token);
      at = end;
    }
    return tokens;
  }

  Result<std::string> Bytes(int32_t token, bool is_first) const override {
    if (token < 0 || token >= size_) return IsNone(std::to_string(token));
    return (is_first ? "" : " ") + std::to_string(token);
  }

  bool IsSpecial(int32_t) const override { return false; }

  std::optional<int32_t> Find(const std::string& name) const override {
    constexpr size_t kMostDigits = 10;
    if (name.empty() || name.size() > kMostDigits || name.find_first_not_of("0123456789") != std::string::npos) {
      return std::nullopt;
    }
    const long long number = std::strtoll(name.c_str(), nullptr, 10);
    return number < size_ ? std::optional(static_cast<int32_t>(number)) : std::nullopt;
  }

 private:
  Error IsNone(const std::string& word) const {
    return {ExitCode::kInput,
            Format("`%s` is no token: tokens are the numbers from 0 to %" PRId64, word.c_str(), size_ - 1)};
  }

  const int64_t size_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> OpenNumberTokenizer(const std::string&, int64_t limit) {
  const int64_t size = limit > 0 ? limit : std::numeric_limits<int32_t>::max();
  return std::unique_ptr<Tokenizer>(std::make_unique<NumberTokenizer>(size));
}

}  // namespace cleave::runtime
