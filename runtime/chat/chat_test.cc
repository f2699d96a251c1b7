#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/chat/template_chat.h"
#include "runtime/json/json.h"

namespace cleave::runtime {
namespace {

// Letters are tokens from 0 on; "<e>" is 30, "<u>" 31 and "<a>" 32.
std::string Tokenizer() {
  std::string vocabulary;
  for (char c = 'a'; c <= 'z'; ++c) vocabulary += Format("\"%c\": %d, ", c, c - 'a');
  const auto added = [](const char* text, int id) {
    return Format(
        R"({"id": %d, "content": "%s", "special": true, "single_word": false, "lstrip": false, "rstrip": false, )"
        R"("normalized": false})",
        id, text);
  };
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)" + added("<e>", 30) + ", " +
         added("<u>", 31) + ", " + added("<a>", 32) +
         R"(], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, )"
         R"("use_regex": true}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true, )"
         R"("trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "dropout": null, "unk_token": null, )"
         R"("continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, )"
         R"("vocab": {)" +
         vocabulary + R"("<": 26, ">": 27, "<e>": 30, "<u>": 31, "<a>": 32}, "merges": []}})";
}

constexpr char kTemplate[] =
    "{% for m in messages %}{{ '<u>' if m.role == 'user' else '<a>' }}{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}{% if mood %}{{ mood }}{% endif %}";

class ChatTest : public testing::Test {
 protected:
  void SetUp() override {
    Write("tokenizer.json", Tokenizer());
    Write("tokenizer_config.json", R"({"eos_token": {"content": "<e>"}})");
    Write("chat_template.jinja", kTemplate);
  }

  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ + "/" + name) << text; }

  std::unique_ptr<ChatFormat> Open() {
    Result<std::unique_ptr<ChatFormat>> chat = OpenTemplateChat(folder_ + "/tokenizer.json");
    if (chat.ok()) return std::move(chat.value());
    ADD_FAILURE() << chat.error().message;
    return nullptr;
  }

  // What is wrong with the folder.
  std::string Problem() {
    const Result<std::unique_ptr<ChatFormat>> chat = OpenTemplateChat(folder_);
    return chat.ok() ? "" : chat.error().message;
  }

  static std::string Folder() {
    std::string folder = testing::TempDir() + "/chat_XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    return folder;
  }

  const std::string folder_ = Folder();
};

using Tokens = std::vector<int32_t>;

TEST_F(ChatTest, ConversationsAreTokens) {
  const auto chat = Open();
  ASSERT_NE(chat, nullptr);
  EXPECT_EQ(chat->Encode({{"user", "ab"}}).value(), (Tokens{31, 0, 1, 30, 32}));
  EXPECT_EQ(chat->Encode({{"user", "a"}, {"assistant", "b"}, {"user", "c"}}).value(),
            (Tokens{31, 0, 30, 32, 1, 30, 31, 2, 30, 32}));
  // A mark within a message is text.
  EXPECT_EQ(chat->Encode({{"user", "<e>"}}).value(), (Tokens{31, 26, 4, 27, 30, 32}));
  EXPECT_EQ(chat->Ends(), Tokens{30});
}

TEST_F(ChatTest, ConversationsOfJson) {
  const auto chat = Open();
  ASSERT_NE(chat, nullptr);
  const auto encode = [&](const std::string& text) { return chat->Encode(ParseJson(text).value()); };
  EXPECT_EQ(encode(R"({"messages": [{"role": "user", "content": "ab"}], "temperature": 1})").value(),
            (Tokens{31, 0, 1, 30, 32}));
  EXPECT_EQ(encode(R"({"messages": [{"role": "user", "content": "a"}], "mood": "z"})").value(),
            (Tokens{31, 0, 30, 32, 25}));
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {R"({})", "has no `messages`"},
           {R"({"messages": []})", "has `messages` without a message"},
           {R"({"messages": [3]})", "has something else than an object in message 1"},
           {R"({"messages": [{"content": "a"}]})", "has no `role` in message 1"},
           {R"({"messages": [{"role": "user", "content": "a"}], "tone": 1})", "has the key `tone`, which is not known"},
       }) {
    const auto tokens = encode(text);
    ASSERT_FALSE(tokens.ok()) << text;
    EXPECT_EQ(tokens.error().message, problem);
  }
}

TEST_F(ChatTest, WhatCannotBeUsedIsNamed) {
  Write("chat_template.jinja", "{% include 'x' %}");
  EXPECT_NE(Problem().find("chat_template.jinja, line 1, column 4: `{% include %}` is not supported"),
            std::string::npos)
      << Problem();
  unlink((folder_ + "/chat_template.jinja").c_str());
  EXPECT_NE(Problem().find("has no chat template"), std::string::npos) << Problem();
  Write("tokenizer_config.json", R"({"eos_token": "<e>", "chat_template": [{"name": "default", "template": "x"}]})");
  EXPECT_EQ(Problem(), "");
  unlink((folder_ + "/tokenizer.json").c_str());
  EXPECT_NE(Problem().find("there is no `"), std::string::npos) << Problem();
}

}  // namespace
}  // namespace cleave::runtime
