#include "runtime/generate/text_stream.h"

#include <algorithm>
#include <optional>

#include "runtime/error/error.h"
#include "runtime/utf8/utf8.h"

namespace cleave::runtime {
namespace {

// Where the longest end of the text that a stop word begins with begins, but for whole stop words.
size_t EndBeforeStops(const std::string& text, const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const std::string& stop : stops) {
    for (size_t size = std::min(stop.size() - 1, text.size()); size > longest; --size) {
      if (text.compare(text.size() - size, size, stop, 0, size) == 0) longest = size;
    }
  }
  return text.size() - longest;
}

// How many bytes a character has that begins with this one; 0 where none does.
size_t BytesFrom(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

}  // namespace

size_t EndOfWholeCharacters(const std::string& text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    return BytesFrom(byte) > back ? text.size() - back : text.size();
  }
  return text.size();
}

std::string ValidUtf8(std::string text) {
  while (const std::optional<size_t> at = FindInvalidUtf8(text)) text.replace(*at, 1, "\xEF\xBF\xBD");
  return text;
}

std::string TextStream::Begin(const std::vector<int32_t>& prompt) {
  std::string text;
  for (const int32_t token : prompt) {
    const Result<std::string> bytes = text_.Next(token);
    if (bytes.ok()) text += bytes.value();
  }
  return text;
}

std::string TextStream::Add(int32_t token) {
  const Result<std::string> bytes = text_.Next(token);
  if (!bytes.ok() || has_stopped_) return "";
  held_ += bytes.value();
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  has_stopped_ = end != std::string::npos;
  if (!has_stopped_) end = EndBeforeStops(held_, stops_);
  std::string shown = held_.substr(0, end);
  shown.resize(EndOfWholeCharacters(shown));
  held_ = has_stopped_ ? "" : held_.substr(shown.size());
  return shown;
}

std::string TextStream::Rest() {
  std::string rest = std::move(held_);
  held_.clear();
  rest.resize(EndOfWholeCharacters(rest));
  return rest;
}

}  // namespace cleave::runtime
