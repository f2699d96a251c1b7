#include "tools/lsp/text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/strip.h"

namespace cleave::tools {
namespace {

// Lines end with \n, \r\n or \r.
std::vector<size_t> LineStarts(absl::string_view text) {
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_first_of_two = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if ((text[i] == '\n' || text[i] == '\r') && !is_first_of_two) starts.push_back(i + 1);
  }
  return starts;
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// How much of a position the character that begins with `lead` takes.
int64_t UnitsOf(char lead, size_t bytes, Encoding encoding) {
  if (encoding == Encoding::kUtf8) return static_cast<int64_t>(bytes);
  return static_cast<unsigned char>(lead) >= 0xf0 ? 2 : 1;
}

size_t OffsetIn(absl::string_view text, const std::vector<size_t>& starts, Position position, Encoding encoding) {
  if (position.line < 0) return 0;
  if (position.line >= static_cast<int64_t>(starts.size())) return text.size();
  const auto line = static_cast<size_t>(position.line);
  size_t end = line + 1 < starts.size() ? starts[line + 1] : text.size();
  while (line + 1 < starts.size() && end > starts[line] && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
  int64_t left = position.character;
  size_t at = starts[line];
  while (at < end && left > 0) {
    size_t next = at + 1;
    while (next < end && IsContinuation(text[next])) ++next;
    left -= UnitsOf(text[at], next - at, encoding);
    if (left < 0) break;
    at = next;
  }
  return at;
}

}  // namespace

EditedText::EditedText(std::string raw) : raw_(std::move(raw)) {
  if (raw_.compare(0, 3, "\xef\xbb\xbf") == 0) raw_.erase(0, 3);
  Normalize();
}

void EditedText::Normalize() {
  raw_starts_ = LineStarts(raw_);
  text_.clear();
  text_.reserve(raw_.size());
  for (size_t i = 0; i < raw_.size(); ++i) {
    if (raw_[i] == '\r' && i + 1 < raw_.size() && raw_[i + 1] == '\n') continue;
    text_ += raw_[i] == '\r' ? '\n' : raw_[i];
  }
  starts_ = LineStarts(text_);
}

void EditedText::Replace(Position begin, Position end, absl::string_view with, Encoding encoding) {
  const size_t first = OffsetIn(raw_, raw_starts_, begin, encoding);
  const size_t last = std::max(first, OffsetIn(raw_, raw_starts_, end, encoding));
  raw_.replace(first, last - first, with.data(), with.size());
  Normalize();
}

Position EditedText::PositionOf(int64_t offset, Encoding encoding) const {
  const size_t place = std::min(text_.size(), static_cast<size_t>(std::max<int64_t>(offset, 0)));
  const auto line = std::upper_bound(starts_.begin(), starts_.end(), place) - starts_.begin() - 1;
  Position position{.line = line, .character = 0};
  for (size_t at = starts_[static_cast<size_t>(line)]; at < place;) {
    size_t next = at + 1;
    while (next < text_.size() && IsContinuation(text_[next])) ++next;
    if (next > place) break;
    position.character += UnitsOf(text_[at], next - at, encoding);
    at = next;
  }
  return position;
}

int32_t EditedText::OffsetOf(Position position, Encoding encoding) const {
  return static_cast<int32_t>(OffsetIn(text_, starts_, position, encoding));
}

}  // namespace cleave::tools
