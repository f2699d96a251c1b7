// The server through its pipes, as an editor speaks to it, and what random messages and texts do to it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json/json.h"
#include "tools/lsp/fixes.h"
#include "tools/lsp/framing.h"
#include "tools/lsp/json_fields.h"
#include "tools/lsp/knowledge.h"
#include "tools/lsp/loop.h"
#include "tools/lsp/pages.h"
#include "tools/lsp/scan.h"
#include "tools/lsp/text.h"
#include "tools/lsp/uri.h"

namespace cleave::tools {
namespace {

TEST(FramingTest, MessagesInPieces) {
  const std::string bytes = absl::StrCat(Framed("{}"), "X: 1\r\ncontent-length: 3\n\nabc", Framed(""),
                                         "no length\r\n\r\n", "Content-Length: -4\r\n\r\n", Framed("last"));
  for (size_t size = 1; size < bytes.size(); size += 3) {
    FrameReader reader;
    std::string read;
    for (size_t at = 0; at < bytes.size(); at += size) {
      reader.Feed(bytes.substr(at, size));
      while (const auto message = reader.Next()) absl::StrAppend(&read, "<", *message, ">");
    }
    EXPECT_EQ(read, "<{}><abc><><last>") << size;
    EXPECT_EQ(reader.dropped(), 2);
  }
}

TEST(TextTest, PositionsInBothEncodings) {
  EditedText text("\xef\xbb\xbfgröße = \"😀\";\r\nnext\r\n");
  EXPECT_EQ(text.text(), "größe = \"😀\";\nnext\n");
  const auto behind_face = static_cast<int64_t>(text.text().find('"', 12));
  EXPECT_EQ(text.PositionOf(behind_face, Encoding::kUtf16), (Position{0, 11}));
  EXPECT_EQ(text.PositionOf(behind_face, Encoding::kUtf8), (Position{0, 15}));
  EXPECT_EQ(text.OffsetOf({0, 11}, Encoding::kUtf16), behind_face);
  EXPECT_EQ(text.OffsetOf({0, 10}, Encoding::kUtf16), behind_face - 4);  // Within the face.
  EXPECT_EQ(text.OffsetOf({0, 99}, Encoding::kUtf16), text.OffsetOf({1, 0}, Encoding::kUtf16) - 1);
  EXPECT_EQ(text.OffsetOf({99, 0}, Encoding::kUtf16), static_cast<int32_t>(text.text().size()));
  text.Replace({0, 8}, {1, 4}, "1;\n", Encoding::kUtf16);
  EXPECT_EQ(text.text(), "größe = 1;\n\n");
}

TEST(UriTest, BothWays) {
  EXPECT_EQ(PathOfUri("file:///a%20b/gr%C3%B6%C3%9Fe.model"), "/a b/größe.model");
  EXPECT_EQ(UriOfPath("/a b/größe.model"), "file:///a%20b/gr%C3%B6%C3%9Fe.model");
  EXPECT_EQ(PathOfUri("untitled:x%2"), "untitled:x%2");
}

TEST(ScanTest, WhatSurroundsAPlace) {
  const auto around = [](std::string text) {
    const size_t at = text.find('|');
    text.erase(at, 1);
    return SurroundingsAt(dsl::WordsOf(text), text, static_cast<int32_t>(at));
  };
  const Surroundings call = around("model M { let h = relu(dense(x, units = 3, bi|");
  ASSERT_EQ(call.calls.size(), 2u);
  EXPECT_EQ(call.calls[1].callee, "dense");
  EXPECT_EQ(call.calls[1].argument, 2);
  EXPECT_EQ(call.item, "model");
  const Surroundings setting = around("train M { epochs = 3; optimizer = ad|; }");
  EXPECT_EQ(setting.item, "train");
  EXPECT_EQ(setting.setting, "optimizer");
  EXPECT_TRUE(around("train M { epochs = 3; opt|").begins_statement);
  EXPECT_EQ(around("import \"blo|").string_before, "blo");
  EXPECT_TRUE(around("let x = 1; // and |").in_comment);
  EXPECT_EQ(around("let y = s.wi|;").before, ".");
  EXPECT_TRUE(around("#[|] let x = 1;").in_attribute);
  EXPECT_TRUE(around("fn f() { } |").item.empty());
}

TEST(PagesTest, OfSettingsOpsAndLayers) {
  EXPECT_TRUE(absl::StrContains(PageOf("matmul"), "matrix product"));
  EXPECT_TRUE(absl::StrContains(PageOf("epochs", "train"), "1,000,000,000"));
  EXPECT_TRUE(absl::StrContains(PageOf("zigzag", "parallel"), "causal"));
  EXPECT_TRUE(absl::StrContains(PageOf("adamw"), "Loshchilov"));
  const std::vector<std::string> searches = ChoicesOf("search", "parallel");
  EXPECT_NE(std::find(searches.begin(), searches.end(), "sapp"), searches.end());
  EXPECT_EQ(PageOf("no_such_name"), "");
}

TEST(KnowledgeTest, PlacesMoveWithTheirText) {
  Snapshot snapshot;
  snapshot.texts["f"] = std::make_shared<const std::string>("let a = 1; let b = 2;");
  snapshot.findings.values[{"f", 4, 5}].types = {"int = 1"};
  snapshot.findings.values[{"f", 15, 16}].types = {"int = 2"};
  const Knowledge moved({&snapshot}, "f", "let a = 100; let b = 2;");
  EXPECT_TRUE(moved.At(4, 5).has_value());
  ASSERT_TRUE(moved.At(17, 18).has_value());
  EXPECT_EQ(moved.At(17, 18)->value.types[0], "int = 2");
  EXPECT_FALSE(moved.At(15, 16).has_value());
}

TEST(FixesTest, AreTheEditsOfTheHelp) {
  const std::string text = "let h = relo(x); x = 2;";
  const FoundDiagnostic misspelled{.severity = "error",
                                   .code = "E0201",
                                   .message = "unknown name",
                                   .labels = {{{"f", 8, 12}, ""}},
                                   .notes = {},
                                   .help = {"did you mean `relu`?"}};
  const std::vector<Fix> fixes = FixesOf(misspelled, text);
  ASSERT_EQ(fixes.size(), 1u);
  EXPECT_EQ(fixes[0].text, "relu");
  EXPECT_EQ(fixes[0].range, (FileRange{"f", 8, 12}));
}

// ---------------------------------------------------------------------------------------------------------------------
// Through pipes

// What a session of these messages gives: the answers by their numbers, and the notifications.
struct Session {
  std::map<int64_t, Json> answers;
  std::vector<Json> notifications;
  bool is_clean = false;
};

// The bytes come from a file, and those of the server go to one, so nobody waits for anybody.
Session Talk(const std::string& bytes, bool waits) {
  const std::string folder = testing::TempDir();
  const std::string in_path = folder + "/in", out_path = folder + "/out";
  std::ofstream(in_path, std::ios::binary) << bytes;
  const int in = open(in_path.c_str(), O_RDONLY);
  const int out = open(out_path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ServerOptions options;
  options.waits_for_plans = waits;
  if (waits) options.patience = std::chrono::seconds(100);
  Session session;
  session.is_clean = ServeUntilExit(in, out, options);
  close(in);
  lseek(out, 0, SEEK_SET);
  FrameReader reader;
  char buffer[65536];
  for (ssize_t count = read(out, buffer, sizeof buffer); count > 0; count = read(out, buffer, sizeof buffer)) {
    reader.Feed(absl::string_view(buffer, static_cast<size_t>(count)));
  }
  close(out);
  while (const auto message = reader.Next()) {
    const absl::StatusOr<Json> json = ParseStrictJson(*message);
    EXPECT_TRUE(json.ok()) << *message;
    if (!json.ok()) continue;
    if (At(*json, {"id"}).is_number_integer()) {
      session.answers[NumberOf(At(*json, {"id"}))] = *json;
    } else {
      session.notifications.push_back(*json);
    }
  }
  EXPECT_EQ(reader.dropped(), 0);
  return session;
}

constexpr char kUri[] = "file:///tmp/lsp_test_model.model";
constexpr char kModel[] =
    "record Sizes { width: int; }\n"                                             // 0
    "fn act(x: f32[..n, k], gain: float) -> f32[..n, k] { return x * gain; }\n"  // 1
    "fn never(x: f32[n]) -> f32[n] { let y = x; return y; }\n"                   // 2
    "model M(batch: int = 8, s: Sizes = Sizes(width = 16)) {\n"                  // 3
    "    input x: f32[batch, 4];\n"                                              // 4
    "    input y: f32[batch, 16];\n"                                             // 5
    "    let h1 = act(dense(x, s.width), gain = 2.0);\n"                         // 6
    "    let unused = relo(h1);\n"                                               // 7
    "    loss mse(h1, y);\n"                                                     // 8
    "}\n"                                                                        // 9
    "parallel { devices = 2; search = data_parallel; pin \"h1.weight\" = replicate; }\n";

std::string Message(const Json& json) { return Framed(JsonLine(json)); }

std::string Notification(const char* method, const Json& params) {
  return Message(JsonObject({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}));
}

std::string Request(int64_t id, const std::string& method, Json params) {
  return Message(JsonObject({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}));
}

std::string Ask(int64_t id, const std::string& what, int64_t line, int64_t character, Json params = Json::object()) {
  params["textDocument"] = JsonObject({{"uri", kUri}});
  params["position"] = JsonObject({{"line", line}, {"character", character}});
  return Request(id, absl::StrCat("textDocument/", what), std::move(params));
}

std::string Opened(const std::string& text) {
  return absl::StrCat(
      Request(0, "initialize", Json::object()), Notification("initialized", Json::object()),
      Notification("textDocument/didOpen",
                   JsonObject({{"textDocument", JsonObject({{"uri", kUri}, {"version", 1}, {"text", text}})}})));
}

const std::string& End() {
  static const auto& end =
      *new std::string(absl::StrCat(Request(999, "shutdown", nullptr), Notification("exit", nullptr)));
  return end;
}

std::string Fixed() {
  std::string text = kModel;
  text.replace(text.find("relo"), 4, "relu");
  return text;
}

TEST(LspTest, MistakesAndFixes) {
  const Json range = JsonObject(
      {{"start", JsonObject({{"line", 7}, {"character", 0}})}, {"end", JsonObject({{"line", 7}, {"character", 30}})}});
  // A session goes on until what waits is answered, whatever stands behind it: so the end is left to the pipe.
  const Session session =
      Talk(absl::StrCat(Opened(kModel), Ask(1, "codeAction", 0, 0, JsonObject({{"range", range}})),
                        Ask(2, "hover", 6, 9), Ask(3, "completion", 6, 15), Ask(4, "signatureHelp", 6, 25)),
           true);
  std::string published;
  for (const Json& each : session.notifications) absl::StrAppend(&published, JsonLine(each), "\n");
  EXPECT_TRUE(absl::StrContains(published, "\"code\":\"E0201\"")) << published;
  EXPECT_TRUE(absl::StrContains(published, "did you mean `relu`?")) << published;
  EXPECT_TRUE(absl::StrContains(JsonLine(session.answers.at(1)), "\"newText\":\"relu\""));
  EXPECT_TRUE(absl::StrContains(JsonLine(session.answers.at(2)), "f32[8, 16]"));  // Although there is a mistake.
  EXPECT_TRUE(absl::StrContains(JsonLine(session.answers.at(3)), "\"label\":\"act\""));
  EXPECT_TRUE(absl::StrContains(JsonLine(session.answers.at(4)), "dense(x: f32[..n, k], units: int"));
}

TEST(LspTest, PlansNamesAndShapes) {
  const Json all = JsonObject(
      {{"start", JsonObject({{"line", 0}, {"character", 0}})}, {"end", JsonObject({{"line", 99}, {"character", 0}})}});
  const Session session = Talk(
      absl::StrCat(Opened(Fixed()), Ask(1, "hover", 6, 9), Ask(2, "codeLens", 0, 0),
                   Ask(3, "inlayHint", 0, 0, JsonObject({{"range", all}})), Ask(4, "definition", 8, 13),
                   Ask(5, "rename", 8, 13, JsonObject({{"newName", "hidden"}})),
                   Ask(6, "rename", 8, 13, JsonObject({{"newName", "y"}})), Ask(7, "definition", 6, 29),
                   Ask(8, "references", 1, 23, JsonObject({{"context", JsonObject({{"includeDeclaration", true}})}})),
                   Ask(9, "documentSymbol", 0, 0), Ask(10, "semanticTokens/full", 0, 0), Ask(11, "foldingRange", 0, 0),
                   Ask(12, "formatting", 0, 0), Request(13, "textDocument/noSuchThing", Json::object()),
                   Ask(14, "definition", 2, 50)),
      true);
  const auto answer = [&](int64_t id) { return JsonLine(session.answers.at(id)); };
  EXPECT_TRUE(absl::StrContains(answer(1), "let h1: f32[8, 16]")) << answer(1);
  EXPECT_TRUE(absl::StrContains(answer(1), "(2) cuts dimension 0")) << answer(1);
  EXPECT_TRUE(absl::StrContains(answer(2), "\"title\":\"step ")) << answer(2);
  EXPECT_TRUE(absl::StrContains(answer(3), "\"label\":\": f32[8, 16]\"")) << answer(3);
  EXPECT_TRUE(absl::StrContains(answer(4), "{\"line\":6,\"character\":8}")) << answer(4);
  size_t edits = 0;
  for (const Json& each : ListAt(At(session.answers.at(5), {"result", "changes"}), kUri)) {
    EXPECT_EQ(TextOf(At(each, {"newText"})), "hidden");
    ++edits;
  }
  EXPECT_EQ(edits, 4u) << answer(5);  // The declaration, two uses and a pin.
  EXPECT_TRUE(absl::StrContains(answer(6), "\"error\"")) << answer(6);
  EXPECT_TRUE(absl::StrContains(answer(7), "{\"line\":0,\"character\":15}")) << answer(7);  // A field of a record.
  EXPECT_EQ(At(session.answers.at(8), {"result"}).size(), 3u) << answer(8);
  EXPECT_TRUE(absl::StrContains(answer(9), "\"name\":\"never\"")) << answer(9);
  EXPECT_GT(At(session.answers.at(10), {"result", "data"}).size(), 100u);
  EXPECT_TRUE(absl::StrContains(answer(11), "{\"startLine\":3,\"endLine\":8}")) << answer(11);
  EXPECT_TRUE(absl::StrContains(answer(12), "\"newText\"")) << answer(12);
  EXPECT_TRUE(absl::StrContains(answer(13), "-32601")) << answer(13);
  EXPECT_TRUE(absl::StrContains(answer(14), "{\"line\":2,\"character\":36}")) << answer(14);  // Nothing calls it.
}

TEST(LspTest, ThePreludePinsAndRecordsAreKnown) {
  setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
  const Json all = JsonObject({{"context", JsonObject({{"includeDeclaration", true}})}});
  const int64_t pin = 10, in_pin = 55;
  const Session session =
      Talk(absl::StrCat(Opened(Fixed()), Ask(1, "definition", 6, 20), Ask(2, "definition", pin, in_pin),
                        Ask(3, "references", pin, in_pin, all), Ask(4, "completion", pin, in_pin),
                        Ask(5, "rename", pin, in_pin, JsonObject({{"newName", "hidden"}})), Ask(6, "completion", 6, 28),
                        Ask(7, "completion", pin, in_pin + 4)),
           true);
  const auto answer = [&](int64_t id) { return JsonLine(session.answers.at(id)); };
  const std::string prelude = PathOfUri(TextOf(At(session.answers.at(1), {"result", "uri"})));
  ASSERT_TRUE(absl::EndsWith(prelude, "/cleave/prelude.model")) << answer(1);
  std::ifstream file(prelude);
  std::string line;
  for (int64_t i = NumberOf(At(session.answers.at(1), {"result", "range", "start", "line"})); i >= 0; --i) {
    std::getline(file, line);
  }
  EXPECT_TRUE(absl::StrContains(line, "fn dense(")) << line;
  EXPECT_TRUE(absl::StrContains(answer(2), "{\"line\":6,\"character\":8}")) << answer(2);
  EXPECT_EQ(At(session.answers.at(3), {"result"}).size(), 4u) << answer(3);
  EXPECT_TRUE(absl::StrContains(answer(4), "\"label\":\"h1\"")) << answer(4);
  EXPECT_FALSE(absl::StrContains(answer(4), "\"label\":\"never\"")) << answer(4);
  EXPECT_EQ(ListAt(At(session.answers.at(5), {"result", "changes"}), kUri).size(), 4u) << answer(5);
  EXPECT_TRUE(absl::StrContains(answer(6), "\"label\":\"width\"")) << answer(6);
  EXPECT_FALSE(absl::StrContains(answer(6), "\"label\":\"grad\"")) << answer(6);
  EXPECT_FALSE(absl::StrContains(answer(7), "\"label\":\"h1\"")) << answer(7);
}

TEST(LspTest, EndsAsTheProtocolSays) {
  EXPECT_TRUE(Talk(absl::StrCat(Opened(kModel), End()), false).is_clean);
  EXPECT_FALSE(Talk(Notification("exit", nullptr), false).is_clean);
  const Session early = Talk(Ask(1, "hover", 0, 0), false);
  EXPECT_TRUE(absl::StrContains(JsonLine(early.answers.at(1)), "-32002"));
}

// For about a second: whatever comes, every request that can be read has an answer, and the server ends as it should.
TEST(LspTest, RandomMessagesAndTexts) {
  const char* const kWhat[] = {"hover",      "definition",    "references",    "documentHighlight",   "documentSymbol",
                               "completion", "formatting",    "signatureHelp", "semanticTokens/full", "foldingRange",
                               "inlayHint",  "prepareRename", "codeLens",      "codeAction"};
  const auto begin = std::chrono::steady_clock::now();
  int sessions = 0;
  for (uint64_t seed = 1; std::chrono::steady_clock::now() - begin < std::chrono::seconds(1); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    std::string bytes = Opened(kModel);
    int64_t asked = 0;
    for (int i = 0; i < 12; ++i) {
      const auto at = [&] { return static_cast<int64_t>(random() % 60) - 2; };
      static const char* const kTexts[] = {"", "{", "}", "(", "\"", "let ", "\n", "ö😀", "/*", "0..", "fn f(", ";", "."};
      const Json range = JsonObject({{"start", JsonObject({{"line", at() / 5}, {"character", at()}})},
                                     {"end", JsonObject({{"line", at() / 5}, {"character", at()}})}});
      const Json change = JsonObject({{"range", range}, {"text", kTexts[random() % std::size(kTexts)]}});
      absl::StrAppend(&bytes, Notification("textDocument/didChange",
                                           JsonObject({{"textDocument", JsonObject({{"uri", kUri}, {"version", i}})},
                                                       {"contentChanges", Json::array({change})}})));
      Json params = JsonObject({{"range", range}, {"newName", "z"}});
      absl::StrAppend(&bytes, Ask(++asked, kWhat[random() % std::size(kWhat)], at() / 5, at(), params));
    }
    const bool is_broken = seed % 2 == 0;
    for (uint64_t i = 0; is_broken && i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    const Session session = Talk(bytes, false);
    if (!is_broken) {
      EXPECT_EQ(session.answers.size(), static_cast<size_t>(asked + 1));
    }
    ++sessions;
  }
  EXPECT_GT(sessions, 2);
}

}  // namespace
}  // namespace cleave::tools
