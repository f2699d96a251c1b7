// A text that knows which of its bytes came from outside of the template.
//
//   MarkedText text("<|user|>");
//   text.Append(MarkedText("hello", 1));   // "<|user|>hello", of which bytes 8 to 13 have the mark 1.
//
// What is cut, joined or replaced keeps the marks of its bytes, so that whatever a template does to a message, the
// bytes of that message can be told from those of the template, and a text of a special token in a message from a
// special token.
#ifndef CLEAVE_RUNTIME_CHAT_TEMPLATE_MARKED_TEXT_H_
#define CLEAVE_RUNTIME_CHAT_TEMPLATE_MARKED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cleave::runtime {

// Consecutive bytes with one mark.
struct MarkedRange {
  size_t begin;
  size_t end;
  int32_t mark;

  bool operator==(const MarkedRange& other) const {
    return begin == other.begin && end == other.end && mark == other.mark;
  }
};

class MarkedText {
 public:
  static constexpr int32_t kNoMark = 0;

  MarkedText() = default;
  explicit MarkedText(std::string text, int32_t mark = kNoMark) : text_(std::move(text)) {
    if (mark != kNoMark && !text_.empty()) ranges_.push_back({0, text_.size(), mark});
  }

  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }
  const std::vector<MarkedRange>& ranges() const { return ranges_; }  // In order; neighbours differ in their marks.

  void Append(const MarkedText& other);
  void Append(const std::string& text, int32_t mark);

  // Bytes `begin` to `end`. REQUIRES: begin <= end <= size().
  MarkedText Part(size_t begin, size_t end) const;

  // The mark of a byte.
  int32_t MarkAt(size_t at) const;

 private:
  void AddRange(MarkedRange range);

  std::string text_;
  std::vector<MarkedRange> ranges_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_CHAT_TEMPLATE_MARKED_TEXT_H_
