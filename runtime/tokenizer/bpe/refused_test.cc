// Files that ask for what is not done here, or that are wrong.
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/tokenizer/bpe/tokenizer_json.h"

namespace cleave::runtime {
namespace {

constexpr char kModel[] = R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})";
constexpr char kDecoder[] = R"({"type":"Fuse"})";

std::string WriteFile(const std::string& text) {
  const std::string path =
      testing::TempDir() + "/tokenizer_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// A file of a model, a decoder and other members.
std::string FileWith(const std::string& members, const std::string& model = kModel,
                     const std::string& decoder = kDecoder) {
  return R"({"version":"1.0",)" + members + (members.empty() ? "" : ",") + R"("decoder":)" + decoder + R"(,"model":)" +
         model + "}";
}

// What is wrong with a file; empty where nothing is.
std::string Mistake(const std::string& text) {
  const std::string path = WriteFile(text);
  const auto tokenizer = OpenTokenizerJson(path);
  if (tokenizer.ok()) return "";
  EXPECT_EQ(tokenizer.error().code, ExitCode::kInput);
  const std::string begin = "the tokenizer `" + path + "` ";
  const std::string& message = tokenizer.error().message;
  EXPECT_EQ(message.find(begin), 0u) << message;
  return message.substr(std::min(message.size(), begin.size()));
}

TEST(Refused, NothingOfAPlainFile) {
  EXPECT_EQ(Mistake(FileWith("")), "");
  EXPECT_EQ(Mistake(FileWith(R"("truncation":null,"padding":null,"added_tokens":[],"normalizer":null)")), "");
  EXPECT_EQ(Mistake(FileWith("", R"({"vocab":{"a":0},"merges":[],"dropout":0.0,"end_of_word_suffix":""})")), "");
}

TEST(Refused, WhatIsNoTokenizer) {
  EXPECT_EQ(OpenTokenizerJson("/nowhere/tokenizer.json").error().message,
            "cannot read `/nowhere/tokenizer.json`: No such file or directory");
  EXPECT_EQ(Mistake("{\"a\":"), "is not valid JSON at line 1, column 6");
  EXPECT_EQ(Mistake("{\"\xFF\":1}"), "is not UTF-8 at line 1, column 3");
  EXPECT_EQ(Mistake("[]"), "has the file, which is not an object");
  EXPECT_EQ(Mistake("{}"), "has no `model`");
  EXPECT_EQ(Mistake(FileWith(R"("more":1)")), "has `more` in the file, which is not supported");
  EXPECT_EQ(Mistake(FileWith(R"("truncation":{"max_length":5})")), "has `truncation`, which is not supported");
  EXPECT_EQ(Mistake(FileWith(R"("padding":{})")), "has `padding`, which is not supported");
  EXPECT_EQ(Mistake(R"({"version":"2.0"})"), "has `2.0` as the `version` of the file, which is not supported");
}

struct Case {
  std::string members;
  std::string mistake;
};

TEST(Refused, Models) {
  for (const Case& wrong : {
           Case{R"("type":"WordLevel")", "has `WordLevel` as the `type` of the model, which is not supported"},
           Case{R"("type":"Unigram")", "has no `vocab` in the model"},
           Case{R"("type":"Unigram","vocab":[["a",0],["b"]])",
                "has a token 1 in `vocab` of the model that is no text with a score"},
           Case{R"("type":"Unigram","vocab":[["a",0]],"unk_id":1)",
                "has `1` as the `unk_id` of the model, which is not supported"},
           Case{R"("type":"WordPiece","vocab":{"a":0})", "has no `unk_token` in the model"},
           Case{R"("type":"WordPiece","vocab":{"a":0},"unk_token":"a")",
                "has no `max_input_chars_per_word` in the model"},
           Case{R"("type":"BPE")", "has a model without `vocab`, an object"},
           Case{R"("vocab":{"a":0})", "has `none` as the `type` of the model, which is not supported"},
           Case{R"("type":"BPE","vocab":{"a":0})", "has no `merges` in the model"},
           Case{R"("vocab":{"a":-1},"merges":[])", "has the token `a` with a number that is none from 0 up to 4194304"},
           Case{R"("vocab":{"a":5000000},"merges":[])",
                "has the token `a` with a number that is none from 0 up to 4194304"},
           Case{R"("vocab":{"a":0,"b":0},"merges":[])", "has the number 0 for both `"},
           Case{R"("vocab":{"a":0},"merges":["a"])", "has a merge 0 that is not two tokens"},
           Case{R"("vocab":{"a":0},"merges":["a a a"])", "has a merge 0 that is not two tokens"},
           Case{R"("vocab":{"a":0},"merges":[["a"]])", "has a merge 0 that is not two tokens"},
           Case{R"("vocab":{"a":0},"merges":["a a"])", "has a merge 0 of `a` and `a`, but no token `aa`"},
           Case{R"("vocab":{"a":0,"aa":1},"merges":["a a",["aa","b"]])",
                "has a merge 1 of `aa` and `b`, but no token `b`"},
           Case{R"("vocab":{},"merges":[],"dropout":0.1)",
                "has `0.1` as the `dropout` of the model, which is not supported"},
           Case{R"("vocab":{},"merges":[],"unk_token":"u")", "has the `unk_token` `u`, but no such token"},
           Case{R"("vocab":{},"merges":[],"byte_fallback":true)", "has `byte_fallback`, but no token `<0x00>`"},
           Case{R"("vocab":{},"merges":[],"byte_fallback":1)",
                "has a `byte_fallback` in the model that is not true or false"},
           Case{R"("vocab":{},"merges":[],"end_of_word_suffix":"</w>")",
                "has `</w>` as the `end_of_word_suffix` of the model, which is not supported"},
           Case{R"("vocab":{},"merges":[],"continuing_subword_prefix":"##")",
                "has `##` as the `continuing_subword_prefix` of the model, which is not supported"},
           Case{R"("vocab":{},"merges":[],"cache":5)", "has `cache` in the model, which is not supported"},
       }) {
    EXPECT_EQ(Mistake(FileWith("", "{" + wrong.members + "}")).find(wrong.mistake), 0u)
        << wrong.members << ": " << Mistake(FileWith("", "{" + wrong.members + "}"));
  }
}

TEST(Refused, Steps) {
  for (const Case& wrong : {
           Case{R"("normalizer":{"type":"NFKC"})", "has the normalizer `NFKC`, which is not supported"},
           Case{R"("normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"}]})",
                "has the normalizer `Nmt`, which is not supported"},
           Case{R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"})",
                "has a `precompiled_charsmap` that is damaged"},
           Case{R"("normalizer":{"type":"Prepend"})", "has no `prepend` in the normalizer `Prepend`"},
           Case{R"("normalizer":{"type":"NFC","more":1})",
                "has `more` in the normalizer `NFC`, which is not supported"},
           Case{R"("normalizer":{"type":"Replace","pattern":{"Regex":"^a"},"content":""})",
                "has the regular expression `^a`, of which `^`, at byte 0, is not supported"},
           Case{R"("pre_tokenizer":{"type":"UnicodeScripts"})",
                "has the pre_tokenizer `UnicodeScripts`, which is not supported"},
           Case{R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":1})",
                "has a `add_prefix_space` in the pre_tokenizer `ByteLevel` that is not true or false"},
           Case{R"("pre_tokenizer":{"type":"Split","pattern":{"String":" "},"behavior":"Odd"})",
                "has `Odd` as the `behavior` of the pre_tokenizer `Split`, which is not supported"},
           Case{R"("pre_tokenizer":{"type":"Split","pattern":{"Glob":" "},"behavior":"Removed"})",
                "has `Glob` in the pattern of the pre_tokenizer `Split`, which is not supported"},
           Case{R"("pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"})",
                "has `last` as the `prepend_scheme` of the pre_tokenizer `Metaspace`, which is not supported"},
           Case{R"("post_processor":{"type":"BertProcessing","cls":["a",0],"sep":["b"]})",
                "has a `sep` in the post_processor `BertProcessing` that is no token"},
           Case{R"("post_processor":{"type":"BertProcessing","cls":["a",0],"sep":["b",9]})",
                "has token 9 behind every text, but no such token"},
           Case{R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}]})",
                "has `<s>` in the post_processor `TemplateProcessing`, but not in its `special_tokens`"},
           Case{R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"s"}},)"
                R"({"Sequence":{"id":"A"}}],"special_tokens":{"s":{"ids":[9]}}})",
                "has token 9 before every text, but no such token"},
           Case{R"("added_tokens":[{"id":0,"content":"x"}])", "has no `single_word` in an added token"},
       }) {
    EXPECT_EQ(Mistake(FileWith(wrong.members)), wrong.mistake) << wrong.members;
  }
}

TEST(Refused, AddedTokens) {
  const auto file = [](const char* id, const char* content, const char* single_word) {
    return FileWith(std::string(R"("added_tokens":[{"id":)") + id + R"(,"content":")" + content +
                    R"(","single_word":)" + single_word +
                    R"(,"lstrip":false,"rstrip":false,"normalized":false,"special":true}])");
  };
  EXPECT_EQ(Mistake(file("7", "x", "false")), "");
  EXPECT_EQ(Mistake(file("7", "x", "true")), "has `single_word` for the added token `x`, which is not supported");
  EXPECT_EQ(Mistake(file("7", "ab", "false")), "has `ab` as the added token 7, but as token 2 in the vocabulary");
  EXPECT_EQ(Mistake(file("2", "x", "false")), "has the number 2 for both `ab` and `x`");
  EXPECT_EQ(Mistake(file("-2", "x", "false")),
            "has the added token `x` with number -2, which is none from 0 up to 4194304");
  const auto tokenizer = OpenTokenizerJson(WriteFile(file("7", "x", "false")));
  EXPECT_EQ(tokenizer.value()->size(), 8);
  EXPECT_FALSE(tokenizer.value()->Bytes(5, false).ok()) << "there is no token 5";
  EXPECT_EQ(tokenizer.value()->Encode("abxb").value(), (std::vector<int32_t>{2, 7, 1}));
}

TEST(Refused, Decoders) {
  EXPECT_EQ(Mistake(FileWith("", kModel, "null")), "has no `decoder`, so its tokens cannot become text");
  for (const Case& wrong : {
           Case{R"({"type":"CTC"})", "has the decoder `CTC`, which is not supported"},
           Case{R"({"type":"Strip","content":" ","start":0,"stop":1})",
                "has `1` as the `stop` of the decoder `Strip`, which is not supported"},
           Case{R"({"type":"Fuse"},{"type":"Strip","content":" ","start":2,"stop":0})",
                "has `2` as the `start` of the decoder `Strip`, which is not supported"},
           Case{R"({"type":"Fuse"},{"type":"ByteLevel"})",
                "has the decoder `ByteLevel` behind `Fuse`, which is not supported"},
           Case{R"({"type":"ByteFallback"},{"type":"Strip","content":" ","start":1,"stop":0})",
                "has the decoder `Strip` behind `ByteFallback`, which is not supported"},
       }) {
    EXPECT_EQ(Mistake(FileWith("", kModel, R"({"type":"Sequence","decoders":[)" + wrong.members + "]}")),
              wrong.mistake);
  }
}

TEST(Refused, CharactersWithoutAToken) {
  const std::string path = WriteFile(FileWith(""));
  EXPECT_EQ(OpenTokenizerJson(path).value()->Encode("ab\u00e9").error().message,
            "the tokenizer `" + path + "` has no token for the character U+00E9 (`\u00e9`)");
}

}  // namespace
}  // namespace cleave::runtime
