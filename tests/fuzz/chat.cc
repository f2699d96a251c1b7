// A chat template, and behind the first zero byte a line of a file of conversations: each is refused, or the
// conversation becomes a text of which some ranges are learned.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "runtime/chat_template/chat_template.h"
#include "runtime/utf8/utf8.h"
#include "tests/fuzz/input.h"
#include "tools/data/conversation.h"
#include "tools/data/learned_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave::tools;
  const uint8_t* const zero = std::find(data, data + size, uint8_t{0});
  const std::string text = cleave::tests::fuzz::Text(data, static_cast<size_t>(zero - data));
  const std::string line =
      zero == data + size
          ? R"({"messages": [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "<think>c</think> d\n"},)"
            R"({"role": "user", "content": ""}, {"role": "assistant", "content": "e"}]})"
          : std::string(zero + 1, data + size);
  cleave::runtime::ChatTemplate parsed;
  const bool is_text = !cleave::runtime::FindInvalidUtf8(text).has_value() && text.find('\r') == std::string::npos;
  if (is_text) {
    if (const auto problem = cleave::runtime::ChatTemplate::Parse(text, parsed)) {
      if (problem->offset > text.size() || problem->message.empty()) std::abort();
      return 0;
    }
  } else {
    cleave::runtime::ChatTemplate::Parse("", parsed);
  }
  const auto conversation = ReadConversation(line, parsed, {});
  if (!conversation.ok()) {
    if (conversation.error().message.empty()) std::abort();
    return 0;
  }
  RenderingSettings settings{.chat_template = &parsed, .special_tokens = {"<|im_end|>", "</s>"}};
  settings.variables["eos_token"] = cleave::runtime::TextValue("</s>");
  settings.most_steps = 1'000'000;
  LearnedText learned;
  if (const auto problem = RenderLearned(conversation.value(), settings, learned)) {
    if (problem->offset.value_or(0) > text.size() || problem->message.empty()) std::abort();
    return 0;
  }
  const std::string& whole = learned.text.text();
  if (cleave::runtime::FindInvalidUtf8(whole).has_value()) std::abort();
  size_t end = 0;
  for (const auto& range : learned.learned) {
    if (range.begin < end || range.begin >= range.end || range.end > whole.size()) std::abort();
    end = range.end;
  }
  return 0;
}
