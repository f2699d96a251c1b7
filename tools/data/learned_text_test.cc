#include "tools/data/learned_text.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::tools {
namespace {

constexpr char kChatMl[] =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr char kInstruct[] =
    "{% for m in messages %}{% if m.role == 'user' %}{{ '<s>[INST] ' + m.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + m.content + '</s>' }}{% endif %}{% endfor %}";
// At the end something else than between messages.
constexpr char kEnds[] =
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ '<|eos|>' }}{% endif %}";
// Of thoughts only the last ones are kept.
constexpr char kThoughts[] =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' and loop.last %}"
    "{{ '<think></think>' }}{% endif %}{{ m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr char kGeneration[] =
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content + '!' }}{% endgeneration %}"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}";
// Counts the messages before the first one.
constexpr char kCounts[] = "{{ messages | length }}{% for m in messages %}{{ m.content + '</s>' }}{% endfor %}";
constexpr char kOpenEnd[] =
    "{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% if m.role == 'assistant' %}"
    "{{ '!' if loop.last else '?' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '[assistant]' }}{% endif "
    "%}";
constexpr char kUsersOnly[] =
    "{% for m in messages %}{% if m.role != 'system' %}{{ m.content + '</s>' }}{% endif %}{% endfor %}";

// The text with « and » around what is learned, or what is wrong.
std::string Learned(const std::string& text, const std::string& line) {
  runtime::ChatTemplate parsed;
  EXPECT_FALSE(runtime::ChatTemplate::Parse(text, parsed).has_value());
  const RenderingSettings settings{.chat_template = &parsed,
                                   .special_tokens = {"<|im_start|>", "<|im_end|>", "<|end|>", "<|eos|>", "<|user|>",
                                                      "<|assistant|>", "<s>", "</s>"}};
  const auto conversation = ReadConversation(line, parsed, {"id"});
  if (!conversation.ok()) return conversation.error().message;
  LearnedText learned;
  if (const auto problem = RenderLearned(conversation.value(), settings, learned)) return problem->message;
  std::string shown;
  size_t at = 0;
  for (const runtime::TextRange& range : learned.learned) {
    absl::StrAppend(&shown, learned.text.text().substr(at, range.begin - at), "«");
    absl::StrAppend(&shown, learned.text.text().substr(range.begin, range.end - range.begin), "»");
    at = range.end;
  }
  return shown + learned.text.text().substr(at);
}

constexpr char kTwoTurns[] =
    R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                     {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})";

TEST(LearnedTextTest, IsWhatTheAssistantSays) {
  EXPECT_EQ(Learned(kChatMl, kTwoTurns),
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n«b<|im_end|>»\n"
            "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n«d<|im_end|>»\n");
  EXPECT_EQ(Learned(kInstruct, kTwoTurns), "<s>[INST] a [/INST]« b</s>»<s>[INST] c [/INST]« d</s>»");
  EXPECT_EQ(Learned(kEnds, kTwoTurns),
            "<|user|>a<|end|>\n<|assistant|>«b<|end|>»\n<|user|>c<|end|>\n<|assistant|>«d<|end|>\n<|eos|>»");
  EXPECT_EQ(Learned(kThoughts, kTwoTurns),
            "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n«b<|im_end|>»\n"
            "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n«<think></think>d<|im_end|>»\n");
  EXPECT_EQ(Learned(kGeneration, kTwoTurns), "a«b!»c«d!»");
}

TEST(LearnedTextTest, FormsOfLines) {
  const std::string one = "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n«b<|im_end|>»\n";
  EXPECT_EQ(Learned(kChatMl, R"({"prompt": "a", "completion": "b"})"), one);
  EXPECT_EQ(Learned(kChatMl, R"({"instruction": "a", "output": "b"})"), one);
  EXPECT_EQ(Learned(kChatMl, R"({"instruction": "a", "input": "", "output": "b"})"), one);
  EXPECT_EQ(Learned(kChatMl, R"({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]})"),
            one);
  EXPECT_EQ(Learned(kChatMl, R"({"id": 1, "prompt": "a", "completion": "b"})"), one);
  EXPECT_EQ(Learned(kInstruct, R"({"instruction": "a", "input": "x", "output": "b"})"),
            "<s>[INST] a\n\nx [/INST]« b</s>»");
}

TEST(LearnedTextTest, TemplatesThatDoNotTell) {
  EXPECT_EQ(Learned(kCounts, kTwoTurns),
            "cannot be divided: the chat template writes what comes before message 2 in another way when that message "
            "follows, so what the assistant says cannot be told from it");
  EXPECT_EQ(
      Learned(kOpenEnd, kTwoTurns),
      "cannot be divided: the chat template does not say where message 2 ends, as it writes its end in another way "
      "when more messages follow");
  EXPECT_EQ(Learned(kUsersOnly,
                    R"({"messages": [{"role": "system", "content": "s"}, {"role": "assistant", "content": "b"}]})"),
            "has message 1 of the role `system`, which the chat template leaves out");
}

TEST(LearnedTextTest, LinesThatAreNoSample) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "is not valid JSON at column 2"},
      {"[]", "is not an object"},
      {"{\"a\": 1}",
       "has neither `messages`, nor `conversations`, nor `prompt` and `completion`, nor `instruction` and `output`"},
      {R"({"messages": [], "score": 1})", "has the key `score`, which is not known"},
      // A text that the template compares with is not what it reads.
      {R"({"messages": [{"role": "user", "content": "", "assistant": 1}]})",
       "has the key `assistant` in message 1, which is not known"},
      {R"({"messages": 1})", "has `messages` that are not an array"},
      {R"({"messages": [1]})", "has something else than an object in message 1"},
      {R"({"messages": [{"role": "robot", "content": ""}]})",
       "has the role `robot` in message 1; known are `system`, `developer`, `user`, `assistant` and `tool`"},
      {R"({"messages": [{"content": ""}]})", "has no `role` in message 1"},
      {R"({"messages": [{"role": "user"}]})", "has no `content` in message 1"},
      {R"({"messages": [{"role": "user", "content": 1}]})", "has a `content` in message 1 that is not a text"},
      {R"({"messages": [{"role": "user", "content": "", "name": "x"}]})",
       "has the key `name` in message 1, which is not known"},
      {R"({"messages": [{"role": "user", "content": ""}]})",
       "has nothing that an assistant says, so nothing is learned from it"},
      {R"({"conversations": [{"from": "bing", "value": ""}]})",
       "has `bing` as `from` in message 1; known are `human`, `gpt`, `system`, `tool` and other names of these"},
      {R"({"prompt": 1, "completion": ""})", "has a `prompt` that is not a text"},
      {R"({"prompt": "", "completion": "", "x": 1})", "has the key `x`, which is not known"},
      {"{\"prompt\": \"\xFF\"}", "is not UTF-8 at byte 12"},
  };
  for (const auto& [line, expected] : cases) EXPECT_EQ(Learned(kChatMl, line), expected) << line;
}

}  // namespace
}  // namespace cleave::tools
