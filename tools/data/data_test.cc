#include "tools/data/data.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/json/json_writer.h"
#include "runtime/npy/npy.h"

namespace cleave::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kTemplate[] =
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

// A token for each character of ASCII that is shown, a space, the end of a line, and marks.
constexpr int32_t kSpace = 94, kNewline = 95, kUser = 96, kAssistant = 97, kEnd = 98, kPadding = 99;
constexpr const char* kMarks[] = {"<|user|>", "<|assistant|>", "<|end|>", "<|pad|>"};

int32_t Letter(char c) { return c == ' ' ? kSpace : c == '\n' ? kNewline : c - '!'; }

class DataTest : public testing::Test {
 protected:
  DataTest() : folder_(testing::TempDir() + "/data_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "tok");
    runtime::JsonObject vocabulary;
    for (char c = '!'; c <= '~'; ++c) vocabulary.AddInteger(std::string(1, c), c - '!');
    vocabulary.AddInteger("\u0120", kSpace);
    vocabulary.AddInteger("\u010A", kNewline);
    std::string added;
    for (int32_t i = 0; i < 4; ++i) {
      absl::StrAppend(&added, i == 0 ? "" : ",", "{\"id\":", kUser + i, ",\"content\":\"", kMarks[i],
                      R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})");
    }
    Write("tok/tokenizer.json",
          absl::StrCat(R"({"version":"1.0","added_tokens":[)", added,
                       R"(],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},)",
                       R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE","merges":[],"vocab":)",
                       vocabulary.Text(), "}}"));
    Write("tok/tokenizer_config.json", R"({"eos_token": "<|end|>", "pad_token": {"content": "<|pad|>"}})");
    Write("tok/chat_template.jinja", kTemplate);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  std::string ReadBytes(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Standard output and error, which begins with the exit code if that is not 0.
  std::string Run(std::vector<std::string> words) const {
    std::ostringstream out, err;
    const ExitCode code = RunData("cleave data", "Test.", words, out, err);
    return absl::StrCat(code == ExitCode::kDone ? "" : absl::StrCat(static_cast<int>(code), ": "), err.str(),
                        out.str());
  }

  // Rows of 16 tokens, in the folder `out`, if nothing else is asked for.
  std::string Chat(const std::string& file, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"chat", Path(file), "--tokenizer", Path("tok")};
    const auto add = [&](const std::string& option, const std::string& value) {
      if (std::find(more.begin(), more.end(), option) == more.end()) words.insert(words.end(), {option, value});
    };
    add("--out", Path("out"));
    add("--seq", "16");
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }

  // All values of an array of rows of `seq`, a row a vector.
  std::vector<std::vector<int32_t>> Rows(const std::string& name) const {
    const auto file = runtime::NpyFile::Open(Path(name));
    EXPECT_TRUE(file.ok()) << file.error().message;
    const auto& shape = file.value().header().shape;
    std::vector<std::vector<int32_t>> rows(static_cast<size_t>(shape[0]),
                                           std::vector<int32_t>(static_cast<size_t>(shape[1])));
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_FALSE(file.value().ReadRun(static_cast<int64_t>(i) * shape[1], shape[1], rows[i].data()).has_value());
    }
    return rows;
  }

  const fs::path folder_;
};

std::string Line(const std::string& asked, const std::string& answer) {
  return absl::StrCat("{\"prompt\": \"", asked, "\", \"completion\": \"", answer, "\"}\n");
}

TEST_F(DataTest, ChatMakesRows) {
  Write("a.jsonl", Line("a", "bc") + "\n" + Line("d", "e"));  // 9 and 8 tokens.
  const std::string said = Chat("a.jsonl", {"--seq", "18"});
  EXPECT_TRUE(absl::StartsWith(said,
                               "1 row of 18 tokens: 2 samples, 17 tokens, of which 29.4 % are learned; 5.6 % of the "
                               "places are padding\nwrote"))
      << said;
  const int32_t a = Letter('a'), b = Letter('b'), c = Letter('c'), d = Letter('d'), e = Letter('e'), n = kNewline,
                i = -100;
  EXPECT_EQ(Rows("out/tokens.npy")[0], (std::vector<int32_t>{kUser, a, kEnd, n, kAssistant, b, c, kEnd, n,  //
                                                             kUser, d, kEnd, n, kAssistant, e, kEnd, n, kPadding}));
  EXPECT_EQ(Rows("out/labels.npy")[0],
            (std::vector<int32_t>{i, i, i, i, b, c, kEnd, i, i, i, i, i, i, e, kEnd, i, i, i}));
  EXPECT_EQ(Rows("out/documents.npy")[0], (std::vector<int32_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 0}));
  EXPECT_EQ(Rows("out/positions.npy")[0], (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 0}));
  EXPECT_TRUE(absl::StrContains(Chat("a.jsonl", {"--seq", "18"}), "is made of the same already"));
  const std::string shown = Run({"show", Path("out")});
  EXPECT_TRUE(absl::StartsWith(shown,
                               "--- row 1, document 1: places 0 to 8\n<|user|>a<|end|>\n<|assistant|>«bc<|end|>»\n"
                               "--- row 1, document 2: places 9 to 16\n<|user|>d<|end|>\n<|assistant|>«e<|end|>»\n"
                               "--- row 1: 1 place of padding\n1 row of 18 tokens"))
      << shown;
  Chat("a.jsonl", {"--no-pack", "--seq", "18"});
  EXPECT_EQ(Rows("out/tokens.npy").size(), 2u);
}

// What a template reads besides may be there, but says nothing of what is not the line's to say.
TEST_F(DataTest, OtherVariablesAndMembersOfTemplates) {
  Write("tok/chat_template.jinja",
        "{{ tools | tojson if tools }}{{ eos_token }}{% for m in messages %}{{ m.get('name', '') ~ m.content }}"
        "{% if 'calls' in m %}{{ m['calls'] | length }}{% endif %}{{ '<|end|>' }}{% endfor %}");
  Write("a.jsonl",
        R"({"tools": [{"a": 1}], "eos_token": "x", "messages": [{"role": "user", "content": "a", "name": "n"},)"
        R"({"role": "assistant", "content": "b", "calls": [1, 2]}]})");
  EXPECT_FALSE(absl::StrContains(Chat("a.jsonl", {"--seq", "24"}), "error"));
  std::vector<int32_t> expected;
  for (const char c : std::string("[{\"a\": 1}]")) expected.push_back(Letter(c));
  expected.push_back(kEnd);
  for (const char c : std::string("na")) expected.push_back(Letter(c));
  expected.push_back(kEnd);
  for (const char c : std::string("b2")) expected.push_back(Letter(c));
  expected.push_back(kEnd);
  std::vector<int32_t> row = Rows("out/tokens.npy")[0];
  row.resize(expected.size());
  EXPECT_EQ(row, expected);
}

// Jinja makes one character of every end of a line.
TEST_F(DataTest, TemplatesWithOtherEndsOfLines) {
  Write("a.jsonl", Line("a", "b"));
  std::vector<std::vector<std::vector<int32_t>>> rows;
  for (const char* const end : {"\n", "\r\n", "\r"}) {
    Write("tok/chat_template.jinja",
          absl::StrCat("{% for m in messages %}", end, "{{ m.content + '<|end|>' }}", end, "{% endfor %}"));
    EXPECT_FALSE(absl::StrContains(Chat("a.jsonl"), "error"));
    rows.push_back(Rows("out/tokens.npy"));
  }
  EXPECT_EQ(rows[0][0][2], kNewline);
  EXPECT_EQ(rows[1], rows[0]);
  EXPECT_EQ(rows[2], rows[0]);
}

// A message cannot say what the template says.
TEST_F(DataTest, MarksWithinMessagesAreText) {
  Write("a.jsonl", Line("<|end|>", "b"));
  EXPECT_TRUE(absl::StrContains(Chat("a.jsonl"), "1 special token written out within messages"));
  const std::vector<int32_t> row = Rows("out/tokens.npy")[0];
  EXPECT_EQ(std::count(row.begin(), row.end(), kEnd), 2);
  EXPECT_EQ(row[1], Letter('<'));
}

TEST_F(DataTest, LongSamples) {
  Write("a.jsonl", Line("a", "bcdefghijkl") + Line("a", "b") + Line("abcdefghijklmnopq", "r"));  // 18, 8 and 24.
  EXPECT_TRUE(absl::StrContains(Chat("a.jsonl", {"--long", "error"}), "a.jsonl:1` has 18 tokens, and a row has 16"));
  EXPECT_FALSE(fs::exists(Path("out")));
  std::string said = Chat("a.jsonl");
  EXPECT_TRUE(absl::StrContains(said, "2 samples cut off at the end of a row")) << said;
  EXPECT_TRUE(absl::StrContains(said, "1 sample left out: nothing within a row is learned")) << said;
  // The label of the last place is the token that is cut off.
  EXPECT_EQ(Rows("out/labels.npy")[0][15], kEnd);
  said = Chat("a.jsonl", {"--long", "drop"});
  EXPECT_TRUE(absl::StrContains(said, "1 sample, 8 tokens")) << said;
  EXPECT_TRUE(absl::StrContains(said, "2 samples left out: longer than a row")) << said;
  said = Chat("a.jsonl", {"--long", "split", "--no-pack"});
  EXPECT_TRUE(absl::StrContains(said, "2 samples split")) << said;
  EXPECT_EQ(Rows("out/tokens.npy").size(), 3u);
}

// Whatever is drawn, each sample is in one of the two, and the same ones each time.
TEST_F(DataTest, TestIsSetAside) {
  std::string lines;
  std::multiset<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    const std::string answer = absl::StrCat("x", i);
    lines += Line("a", answer);
    expected.insert(answer);
  }
  Write("a.jsonl", lines);
  const auto answers = [&](const std::string& file) {
    std::multiset<std::string> found;
    for (const std::vector<int32_t>& row : Rows(file)) {
      std::string answer;
      for (size_t i = 5; i < row.size() && row[i] != kEnd; ++i) answer += static_cast<char>(row[i] + '!');
      found.insert(answer);
    }
    return found;
  };
  Chat("a.jsonl", {"--test", "0.1", "--no-pack"});
  const std::multiset<std::string> test = answers("out/test/tokens.npy");
  EXPECT_EQ(test.size(), 5u);
  std::multiset<std::string> all = answers("out/tokens.npy");
  all.insert(test.begin(), test.end());
  EXPECT_EQ(all, expected);
  fs::remove_all(Path("out"));
  Chat("a.jsonl", {"--test", "0.1", "--no-pack"});
  EXPECT_EQ(answers("out/test/tokens.npy"), test);
  Chat("a.jsonl", {"--test", "0.1", "--no-pack", "--seed", "5"});
  EXPECT_NE(answers("out/test/tokens.npy"), test);
  EXPECT_TRUE(absl::StrContains(Run({"show", Path("out/test"), "--count", "1"}), "5 rows of 16 tokens"));
}

TEST_F(DataTest, CompressedFiles) {
  const std::string text = Line("a", "b") + Line("c", "d");
  Write("a.jsonl", text);
  Chat("a.jsonl");
  const auto expected = Rows("out/tokens.npy");
  // Two members, as `cat` makes them of two files.
  const gzFile file = gzopen(Path("a.gz").c_str(), "wb");
  gzputs(file, Line("a", "b").c_str());
  gzclose(file);
  const gzFile more = gzopen(Path("a.gz").c_str(), "ab");
  gzputs(more, Line("c", "d").c_str());
  gzclose(more);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  Write("a.zst", packed);
  for (const char* const name : {"a.gz", "a.zst"}) {
    fs::remove_all(Path("out"));
    Chat(name);
    EXPECT_EQ(Rows("out/tokens.npy"), expected) << name;
    const std::string bytes = ReadBytes(name);
    Write(absl::StrCat("short_", name), bytes.substr(0, bytes.size() - 5));
    EXPECT_TRUE(absl::StrContains(Chat(absl::StrCat("short_", name)), "ends in the middle of its data")) << name;
  }
  Write("t.parquet", "PAR1....");
  EXPECT_TRUE(absl::StrContains(Chat("t.parquet"), "is a Parquet file, which is not read\nhelp: in Python, `datasets"));
}

TEST_F(DataTest, WhatIsWrong) {
  Write("bad.jsonl", Line("a", "b") + "{\"prompt\": 1}\n" + Line("c", "d"));
  std::string said = Chat("bad.jsonl");
  EXPECT_TRUE(absl::StartsWith(said, "3: error[E0630]: `")) << said;
  EXPECT_TRUE(absl::StrContains(said, "bad.jsonl:2` has neither `messages`")) << said;
  EXPECT_FALSE(fs::exists(Path("out")));
  said = Chat("bad.jsonl", {"--skip-bad"});
  EXPECT_TRUE(absl::StrContains(said, "bad.jsonl:2`\nnote: ")) << said;
  EXPECT_TRUE(absl::StrContains(said, "2 samples")) << said;
  EXPECT_TRUE(absl::StrContains(said, "1 line skipped")) << said;

  Write("empty.jsonl", "\n\n");
  EXPECT_TRUE(absl::StartsWith(Chat("empty.jsonl"), "3: error[E0635]: there is no sample in"));
  EXPECT_TRUE(absl::StartsWith(Chat("none.jsonl"), "3: error[E0634]: cannot read"));

  fs::create_directories(Path("own"));
  Write("own/precious", "x");
  EXPECT_TRUE(absl::StartsWith(Chat("bad.jsonl", {"--out", Path("own")}), "5: error[E0601]"));
  EXPECT_TRUE(fs::exists(Path("own/precious")));

  Write("tok/chat_template.jinja", "{% for m in messages %}{% include 'x' %}{% endfor %}");
  said = Chat("bad.jsonl");
  EXPECT_TRUE(
      absl::StrContains(said, "error[E0631]: the chat template cannot be used: `{% include %}` is not supported"))
      << said;
  EXPECT_TRUE(absl::StrContains(said, "chat_template.jinja:1:27")) << said;
  Write("tok/chat_template.jinja", "{% for m in messages %}");
  EXPECT_TRUE(absl::StrContains(Chat("bad.jsonl"), "expected `{% endfor %}`, not the end\n  --> "));
  Write("tok/chat_template.jinja",
        "{{ strftime_now('%Y') }}{% for m in messages %}{{ m.content + '<|end|>' }}{% endfor %}");
  EXPECT_TRUE(absl::StrContains(Chat("bad.jsonl"), "the chat template writes today's date"));
  EXPECT_FALSE(absl::StrContains(Chat("bad.jsonl", {"--date", "2024-07-26", "--skip-bad"}), "error"));
  fs::remove(Path("tok/chat_template.jinja"));
  EXPECT_TRUE(absl::StrContains(Chat("bad.jsonl"), "has no chat template"));

  // A tokenizer that has changed since.
  Write("tok/tokenizer.json", ReadBytes("tok/tokenizer.json") + "\n");
  said = Run({"show", Path("out")});
  EXPECT_TRUE(absl::StrContains(said, "error[E0636]: ")) << said;
  EXPECT_TRUE(absl::StrContains(said, "was made with another tokenizer")) << said;
  fs::remove(Path("tok/tokenizer.json"));
  Write("tok/tokenizer.model", "");
  EXPECT_TRUE(absl::StrContains(Chat("bad.jsonl"), "`tokenizer.model` is not read"));
  EXPECT_TRUE(absl::StrContains(Run({"show", Path("own")}), "3: error[E0636]"));
  EXPECT_EQ(Run({"show", Path("own"), "--seq", "4"}).substr(0, 34), "2: error: `show` takes no `--seq`\n");
  EXPECT_TRUE(absl::StrContains(Run({"chat", "x", "--tokenizer", "t", "--out", "o"}), "`chat` needs `--seq`"));
}

TEST_F(DataTest, PairsOfAnswers) {
  const auto said_by = [](const std::string& role, const std::string& text) {
    return absl::StrCat(R"({"role": ")", role, R"(", "content": ")", text, R"("})");
  };
  const std::string asked = said_by("user", "a"), b = said_by("assistant", "b"), c = said_by("assistant", "cd");
  // One pair in each form.
  Write("a.jsonl", absl::StrCat(R"({"prompt": "a", "chosen": "b", "rejected": "cd"})", "\n{\"prompt\": [", asked,
                                "], \"chosen\": [", b, "], \"rejected\": [", c, "]}\n{\"chosen\": [", asked, ", ", b,
                                "], \"rejected\": [", asked, ", ", c, "]}\n"));
  const auto pairs = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"pairs", Path("a.jsonl"), "--tokenizer", Path("tok"), "--out", Path("out")};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  };
  const std::string said = pairs({"--seq", "10"});
  EXPECT_TRUE(absl::StartsWith(said, "3 pairs of 10 tokens: 6 samples, 51 tokens, of which 29.4 % are learned; 15.0 %"))
      << said;
  const int32_t n = kNewline, i = -100, p = kPadding;
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(Rows("out/chosen.npy")[row],
              (std::vector<int32_t>{kUser, Letter('a'), kEnd, n, kAssistant, Letter('b'), kEnd, n, p, p}));
    EXPECT_EQ(Rows("out/chosen_labels.npy")[row], (std::vector<int32_t>{i, i, i, i, Letter('b'), kEnd, i, i, i, i}));
    EXPECT_EQ(Rows("out/rejected.npy")[row],
              (std::vector<int32_t>{kUser, Letter('a'), kEnd, n, kAssistant, Letter('c'), Letter('d'), kEnd, n, p}));
    EXPECT_EQ(Rows("out/rejected_labels.npy")[row],
              (std::vector<int32_t>{i, i, i, i, Letter('c'), Letter('d'), kEnd, i, i, i}));
  }
  EXPECT_TRUE(absl::StrContains(pairs({"--seq", "10"}), "is made of the same already"));
  EXPECT_TRUE(absl::StartsWith(Run({"show", Path("out"), "--count", "1"}),
                               "--- pair 1, chosen\n<|user|>a<|end|>\n<|assistant|>«b<|end|>»\n"
                               "--- pair 1, rejected\n<|user|>a<|end|>\n<|assistant|>«cd<|end|>»\n3 pairs"));
  // Both answers of a pair are tested or learned, and lost where one of them is cut off before it says something.
  EXPECT_TRUE(absl::StrContains(pairs({"--seq", "10", "--test", "0.3"}), "1 pair for testing"));
  EXPECT_EQ(Rows("out/test/rejected.npy").size(), 1u);
  EXPECT_TRUE(absl::StrContains(pairs({"--seq", "4"}), "3 samples with nothing to learn"));
  EXPECT_TRUE(absl::StrContains(pairs({"--seq", "8", "--long", "drop"}), "3 samples longer than a row"));
  EXPECT_TRUE(absl::StrContains(pairs({"--seq", "8", "--long", "split"}), "`pairs` takes no `--long split`"));
  EXPECT_TRUE(absl::StrContains(pairs({"--seq", "8", "--no-pack"}), "`pairs` takes no `--no-pack`"));
  // An answer in several parts: what the prompt has of the assistant is not learned.
  Write("a.jsonl", absl::StrCat("{\"prompt\": [", asked, ", ", b, ", ", asked, "], \"chosen\": [", c,
                                "], \"rejected\": [", b, "]}\n"));
  pairs({"--seq", "18"});
  EXPECT_EQ(Rows("out/chosen_labels.npy")[0],
            (std::vector<int32_t>{i, i, i, i, i, i, i, i, i, i, i, i, Letter('c'), Letter('d'), kEnd, i, i, i}));
  const std::pair<std::string, std::string> wrong[] = {
      {R"({"prompt": "a", "chosen": "b"})", "has no `rejected`"},
      {R"({"chosen": "b", "rejected": "c"})", "has no `prompt`"},
      {R"({"prompt": "a", "chosen": "b", "rejected": "c", "score": 1})", "has the key `score`"},
      {absl::StrCat(R"({"prompt": "a", "chosen": [)", b, R"(], "rejected": [)", c, "]}"),
       "has a `prompt` that is no array of messages, and a `chosen` that is one"},
      {absl::StrCat(R"({"chosen": [)", asked, ", ", b, R"(], "rejected": [)", asked, "]}"),
       "has a `rejected` with nothing that an assistant says"},
      {absl::StrCat(R"({"chosen": [)", asked, R"(, 5], "rejected": [)", asked, "]}"),
       "has something else than an object in message 2 of `chosen`"}};
  for (const auto& [line, message] : wrong) {
    Write("a.jsonl", line + "\n");
    EXPECT_TRUE(absl::StrContains(pairs({"--seq", "18"}), message)) << pairs({"--seq", "18"});
  }
}

// What a killed run has left is removed, and what others have written is not.
TEST_F(DataTest, WhatAKilledRunLeft) {
  Write("a.jsonl", Line("a", "b"));
  fs::create_directories(Path("out.unfinished/test"));
  Write("out.unfinished/test/tokens.npy.unfinished", "half");
  EXPECT_TRUE(absl::StartsWith(Chat("a.jsonl"), "1 row"));
  EXPECT_FALSE(fs::exists(Path("out.unfinished")));
  fs::create_directories(Path("other.unfinished/test"));
  Write("other.unfinished/test/mine.txt", "mine");
  EXPECT_TRUE(absl::StrContains(Chat("a.jsonl", {"--out", Path("other")}), "has `test/mine.txt`, which is nothing"));
  EXPECT_TRUE(fs::exists(Path("other.unfinished/test/mine.txt")));
}

TEST_F(DataTest, TokenizeWritesNumbers) {
  Write("a.txt", "ab\n");
  Write("b.jsonl", "{\"text\": \"c<|end|>\", \"id\": 1}\n{\"text\": \"\"}\n");
  const std::vector<std::string> words = {"tokenize",    Path("a.txt"),    Path("b.jsonl"),
                                          "--tokenizer", Path("tok"),      "--out",
                                          Path("train"), "--shard-tokens", "9"};
  const std::string said = Run(words);
  EXPECT_TRUE(absl::StartsWith(said, "3 documents, 14 tokens in 2 files\n1 special token written out")) << said;
  const std::string bytes = ReadBytes("train_000000.bin") + ReadBytes("train_000001.bin");
  EXPECT_EQ(ReadBytes("train_000000.bin").size(), 18u);
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    tokens.push_back(static_cast<unsigned char>(bytes[i]) | static_cast<unsigned char>(bytes[i + 1]) << 8);
  }
  std::vector<int32_t> expected = {Letter('a'), Letter('b'), kNewline, kEnd};
  for (const char c : std::string("c<|end|>")) expected.push_back(Letter(c));
  expected.insert(expected.end(), {kEnd, kEnd});
  EXPECT_EQ(tokens, expected);
  EXPECT_TRUE(absl::StartsWith(Run(words), "5: error[E0601]: there is `"));
  Write("bad.jsonl", "{\"txt\": 1}\n");
  EXPECT_TRUE(absl::StrContains(Run({"tokenize", Path("bad.jsonl"), "--tokenizer", Path("tok"), "--out", Path("x")}),
                                "bad.jsonl:1` has no `text`"));
  Write("one.txt", "");
  EXPECT_TRUE(absl::StrContains(Run({"tokenize", Path("one.txt"), "--tokenizer", Path("tok"), "--out", Path("x")}),
                                "error[E0635]: there is no text in"));
  EXPECT_FALSE(fs::exists(Path("x_000000.bin.unfinished")));
}

// A long text that is cut into parts has the tokens that it has in one.
TEST_F(DataTest, LongTextsAreCutWhereTokensAreTheSame) {
  std::string text;
  while (text.size() < 2000000) {
    absl::StrAppend(&text, "line ", text.size(), " of it\n", text.size() % 7 == 0 ? "\n\n  \n" : "", "and  more \n");
  }
  Write("a.txt", text);
  const std::string said = Run({"tokenize", Path("a.txt"), "--tokenizer", Path("tok"), "--out", Path("train")});
  EXPECT_TRUE(absl::StrContains(said, "1 document,")) << said;
  const std::string bytes = ReadBytes("train_000000.bin");
  ASSERT_EQ(bytes.size(), 2 * (text.size() + 1));
  for (size_t i = 0; i < text.size(); ++i) ASSERT_EQ(bytes[2 * i], Letter(text[i])) << i;
}

}  // namespace
}  // namespace cleave::tools
