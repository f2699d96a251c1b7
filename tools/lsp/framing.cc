#include "tools/lsp/framing.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace cleave::tools {
namespace {

// Where the headers end and where the message begins; nullopt while the blank line is not there.
struct HeaderEnd {
  size_t headers = 0;
  size_t message = 0;
};

std::optional<HeaderEnd> FindHeaderEnd(absl::string_view bytes) {
  for (size_t line = bytes.find('\n'); line != absl::string_view::npos; line = bytes.find('\n', line + 1)) {
    const absl::string_view next = bytes.substr(line + 1);
    if (absl::StartsWith(next, "\n")) return HeaderEnd{line, line + 2};
    if (absl::StartsWith(next, "\r\n")) return HeaderEnd{line, line + 3};
  }
  return std::nullopt;
}

std::optional<size_t> LengthIn(absl::string_view headers) {
  std::optional<size_t> length;
  for (absl::string_view line : absl::StrSplit(headers, '\n')) {
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(line.substr(0, colon)), "Content-Length")) continue;
    const absl::string_view digits = absl::StripAsciiWhitespace(line.substr(colon + 1));
    int64_t number = 0;
    if (length.has_value() || !absl::SimpleAtoi(digits, &number)) return std::nullopt;
    if (number < 0 || number > kMostMessageBytes) return std::nullopt;
    length = static_cast<size_t>(number);
  }
  return length;
}

}  // namespace

void FrameReader::Feed(absl::string_view bytes) { absl::StrAppend(&bytes_, bytes); }

void FrameReader::Take(size_t count) {
  begin_ += count;
  // Moving the rest to the front each time would take time in the square of what waits.
  if (begin_ < bytes_.size() / 2) return;
  bytes_.erase(0, begin_);
  begin_ = 0;
}

std::optional<std::string> FrameReader::Next() {
  while (!length_.has_value()) {
    const absl::string_view head = Rest().substr(0, kMostHeaderBytes);
    const std::optional<HeaderEnd> end = FindHeaderEnd(head);
    if (!end.has_value()) {
      if (head.size() < kMostHeaderBytes) return std::nullopt;
      ++dropped_;
      Take(head.size());
      continue;
    }
    length_ = LengthIn(head.substr(0, end->headers));
    if (!length_.has_value()) ++dropped_;
    Take(end->message);
  }
  if (Rest().size() < *length_) return std::nullopt;
  std::string message(Rest().substr(0, *length_));
  Take(*length_);
  length_.reset();
  return message;
}

std::string Framed(absl::string_view message) {
  return absl::StrCat("Content-Length: ", message.size(), "\r\n\r\n", message);
}

}  // namespace cleave::tools
