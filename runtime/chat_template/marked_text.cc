#include "runtime/chat_template/marked_text.h"

#include <algorithm>

namespace cleave::runtime {

void MarkedText::AddRange(MarkedRange range) {
  if (!ranges_.empty() && ranges_.back().end == range.begin && ranges_.back().mark == range.mark) {
    ranges_.back().end = range.end;
  } else {
    ranges_.push_back(range);
  }
}

void MarkedText::Append(const MarkedText& other) {
  const size_t offset = text_.size();
  text_ += other.text_;
  for (const MarkedRange& range : other.ranges_) AddRange({range.begin + offset, range.end + offset, range.mark});
}

void MarkedText::Append(const std::string& text, int32_t mark) {
  if (text.empty()) return;
  text_ += text;
  if (mark != kNoMark) AddRange({text_.size() - text.size(), text_.size(), mark});
}

MarkedText MarkedText::Part(size_t begin, size_t end) const {
  MarkedText part(text_.substr(begin, end - begin));
  const auto ends_before = [](const MarkedRange& range, size_t at) { return range.end <= at; };
  for (auto range = std::lower_bound(ranges_.begin(), ranges_.end(), begin, ends_before);
       range != ranges_.end() && range->begin < end; ++range) {
    part.AddRange({std::max(range->begin, begin) - begin, std::min(range->end, end) - begin, range->mark});
  }
  return part;
}

int32_t MarkedText::MarkAt(size_t at) const {
  const auto ends_before = [](const MarkedRange& range, size_t place) { return range.end <= place; };
  const auto range = std::lower_bound(ranges_.begin(), ranges_.end(), at, ends_before);
  return range != ranges_.end() && range->begin <= at ? range->mark : kNoMark;
}

}  // namespace cleave::runtime
