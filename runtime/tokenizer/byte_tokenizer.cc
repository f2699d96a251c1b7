#include "runtime/tokenizer/byte_tokenizer.h"

#include <cinttypes>
#include <utility>

#include "runtime/file/file.h"
#include "runtime/tokenizer/byte_numbers.h"

namespace cleave::runtime {
namespace {

// "byte 113 (`q`)"; other bytes than those of printable ASCII have no picture.
std::string ByteText(uint8_t byte) {
  return byte > ' ' && byte < 0x7F ? Format("byte %d (`%c`)", byte, byte) : Format("byte %d", byte);
}

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer(std::string path, ByteNumbers numbers) : path_(std::move(path)), numbers_(std::move(numbers)) {}

  int64_t size() const override { return numbers_.size(); }

  Result<std::vector<int32_t>> Encode(const std::string& text) const override {
    std::vector<int32_t> tokens;
    for (size_t at = 0; at < text.size(); ++at) {
      const auto byte = static_cast<uint8_t>(text[at]);
      const std::optional<uint8_t> token = numbers_.TokenOf(byte);
      if (!token.has_value()) return HasNoToken(byte, at);
      tokens.push_back(*token);
    }
    return tokens;
  }

  Result<std::string> Bytes(int32_t token, bool) const override {
    if (token >= 0 && token < size()) return std::string(1, static_cast<char>(numbers_.ByteOf(token)));
    return Error{ExitCode::kInput,
                 Format("token %d is none of the %" PRId64 " bytes that the model knows", token, size())};
  }

  bool IsSpecial(int32_t) const override { return false; }

  std::optional<int32_t> Find(const std::string& name) const override {
    if (name.size() != 1) return std::nullopt;
    return numbers_.TokenOf(static_cast<uint8_t>(name[0]));
  }

 private:
  Error HasNoToken(uint8_t byte, size_t at) const {
    const std::string which = Format("%s at offset %zu of the text", ByteText(byte).c_str(), at);
    if (!numbers_.are_numbered()) {
      return {ExitCode::kInput,
              Format("%s is out of range: the model's vocabulary has %" PRId64 " symbols", which.c_str(), size())};
    }
    return {ExitCode::kInput, Format("%s is none of the %" PRId64 " distinct bytes of `%s`, so it has no token",
                                     which.c_str(), size(), path_.c_str())};
  }

  const std::string path_;
  const ByteNumbers numbers_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> OpenByteTokenizer(const std::string& path, int64_t limit) {
  const Result<std::vector<uint8_t>> text = ReadFile(path);
  if (!text.ok()) return text.error();
  Result<ByteNumbers> numbers = ByteNumbers::Of(text.value(), limit, path);
  if (!numbers.ok()) return numbers.error();
  return std::unique_ptr<Tokenizer>(std::make_unique<ByteTokenizer>(path, std::move(numbers.value())));
}

}  // namespace cleave::runtime
