#include "runtime/tokenizer/bpe/charsmap.h"

#include <cstring>

#include "runtime/tokenizer/bpe/fields.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

// Longer ones are taken apart.
constexpr size_t kLongestCluster = 5;

std::optional<std::string> BytesOfBase64(const std::string& text) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.find_last_not_of('=') + 1)) {
    const char* const digit = c == '\0' ? nullptr : std::strchr(kDigits, c);
    if (digit == nullptr) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit - kDigits);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

uint32_t NumberAt(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// Parts of a unit of the double array.
bool HasValue(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t ValueOf(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t LabelOf(uint32_t unit) { return unit & 0x800000FF; }
uint32_t OffsetOf(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

Result<Charsmap> Charsmap::Read(const std::string& base64) {
  const std::optional<std::string> bytes = BytesOfBase64(base64);
  const uint32_t size = bytes.has_value() && bytes->size() >= 4 ? NumberAt(*bytes, 0) : 0;
  if (!bytes.has_value() || size == 0 || size % 4 != 0 || size > bytes->size() - 4) {
    return WrongTokenizer("has a `precompiled_charsmap` that is damaged");
  }
  Result<Regex> cluster = Regex::Compile("\\X");
  if (!cluster.ok()) return cluster.error();
  Charsmap map(std::move(cluster.value()));
  for (size_t at = 4; at < 4 + size_t{size}; at += 4) map.units_.push_back(NumberAt(*bytes, at));
  map.texts_ = bytes->substr(4 + size_t{size}) + '\0';
  return map;
}

std::optional<std::string> Charsmap::Find(const std::string& text) const {
  uint32_t node = OffsetOf(units_[0]);
  for (const char c : text) {
    const uint32_t byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || LabelOf(units_[node]) != byte) return std::nullopt;
    const bool has_value = HasValue(units_[node]);
    node ^= OffsetOf(units_[node]);
    if (node >= units_.size()) return std::nullopt;
    if (!has_value) continue;
    const uint32_t begin = ValueOf(units_[node]);
    if (begin >= texts_.size()) return std::nullopt;
    return std::string(texts_.c_str() + begin);
  }
  return std::nullopt;
}

Result<std::string> Charsmap::Normalize(const std::string& text) const {
  const Result<std::vector<Regex::Match>> clusters = cluster_.FindAll(text);
  if (!clusters.ok()) return clusters.error();
  std::string normalized;
  for (const Regex::Match& cluster : clusters.value()) {
    const std::string whole = text.substr(cluster.begin, cluster.end - cluster.begin);
    const auto found = whole.size() <= kLongestCluster ? Find(whole) : std::nullopt;
    if (found.has_value()) normalized += *found;
    for (size_t at = 0; !found.has_value() && at < whole.size();) {
      const size_t begin = at;
      ReadUtf8(whole, at);
      const std::string character = whole.substr(begin, at - begin);
      normalized += Find(character).value_or(character);
    }
  }
  const std::optional<size_t> wrong = FindInvalidUtf8(normalized);
  if (!wrong.has_value()) return normalized;
  return WrongTokenizer("has a `precompiled_charsmap` that makes what is no UTF-8 of a text");
}

}  // namespace cleave::runtime
