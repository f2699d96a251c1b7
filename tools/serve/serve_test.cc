#include "tools/serve/serve.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tools/serve/api.h"

namespace cleave::tools {
namespace {

// The line for the program, or "code: what is wrong".
std::string LineOf(ApiKind kind, const std::string& body) {
  const auto request = ReadApiRequest(kind, body, "net");
  if (!request.ok()) return absl::StrCat(static_cast<int>(request.error().code), ": ", request.error().message);
  return ProgramLine(request.value(), "7");
}

std::string Chat(const std::string& more, const std::string& messages = R"([{"role":"user","content":"hi"}])") {
  return LineOf(ApiKind::kChat, absl::StrCat("{\"messages\":", messages, more.empty() ? "" : ",", more, "}"));
}

TEST(ApiTest, RequestsBecomeLines) {
  EXPECT_EQ(Chat(""), R"({"id":"7","stream":false,"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(
      Chat(
          R"("model":"net","temperature":0.5,"max_completion_tokens":3,"stop":["a","b"],"seed":5,"stream":true,"n":1)"),
      R"({"id":"7","stream":true,"max_tokens":3,"messages":[{"role":"user","content":"hi"}],"seed":5,"stop":["a","b"],)"
      R"("temperature":0.5})");
  EXPECT_EQ(Chat("", R"([{"role":"user","content":[{"type":"text","text":"a\n"},{"type":"text","text":"é"}]}])"),
            R"({"id":"7","stream":false,"messages":[{"role":"user","content":"a\u000aé"}]})");
  EXPECT_EQ(LineOf(ApiKind::kCompletion, R"({"prompt":["once"],"top_p":null})"),
            R"({"id":"7","stream":false,"prompt":"once"})");
}

TEST(ApiTest, WhatIsNotDoneIsRefused) {
  const std::string deep(100, '[');
  EXPECT_EQ(LineOf(ApiKind::kChat, "{"), "3: the body is not valid JSON at line 1, column 2");
  EXPECT_EQ(LineOf(ApiKind::kChat, "[]"), "3: the body is not an object of JSON");
  EXPECT_EQ(LineOf(ApiKind::kChat, "\xFF"), "3: the body is not UTF-8");
  EXPECT_NE(LineOf(ApiKind::kChat, deep).find("3: the body"), std::string::npos);
  EXPECT_EQ(LineOf(ApiKind::kChat, "{}"), "3: there is no `messages`");
  EXPECT_EQ(LineOf(ApiKind::kCompletion, R"({"prompt":"a","messages":[]})"), "3: `messages` is not known here");
  EXPECT_EQ(Chat("", "[]"), "3: `messages` is not a list of messages");
  EXPECT_EQ(Chat("", "[1]"), "3: `messages` has something else than objects");
  EXPECT_EQ(Chat("", R"([{"role":"user","content":[{"type":"image_url"}]}])"),
            "3: a `content` has parts that are no text: this model reads text alone");
  EXPECT_EQ(Chat(R"("model":"gpt-4o")"), "2: the model `gpt-4o` is not here: there is `net`");
  EXPECT_EQ(Chat(R"("n":2)"), "3: `n` may only be 1 here");
  EXPECT_EQ(Chat(R"("logprobs":true)"), "3: `logprobs` may only be false here");
  EXPECT_EQ(Chat(R"("logit_bias":{})"), "3: `logit_bias` is not known here");
  EXPECT_EQ(Chat(R"("stream":1)"), "3: `stream` is neither true nor false");
}

TEST(ApiTest, AnswersHaveTheFormOfTheInterface) {
  const ApiAnswer chat = {.kind = ApiKind::kChat, .id = "c", .model = "net", .created = 5};
  const ApiEnd end = {.reason = "stop", .prompt_tokens = 2, .tokens = 3};
  EXPECT_EQ(WholeResponse(chat, "hi", end),
            R"({"id":"c","object":"chat.completion","created":5,"model":"net","choices":[{"index":0,"message":)"
            R"({"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,)"
            R"("completion_tokens":3,"total_tokens":5}})");
  EXPECT_EQ(TextChunk(chat, "h"),
            R"({"id":"c","object":"chat.completion.chunk","created":5,"model":"net","choices":[{"index":0,"delta":)"
            R"({"content":"h"}}]})");
  const ApiAnswer completion = {.kind = ApiKind::kCompletion, .id = "c", .model = "net", .created = 5};
  EXPECT_EQ(FirstChunk(completion), "");
  EXPECT_EQ(LastChunk(completion, end),
            R"({"id":"c","object":"text_completion","created":5,"model":"net","choices":[{"index":0,"text":"",)"
            R"("finish_reason":"stop"}]})");
  EXPECT_EQ(ErrorResponse("a \"b\"", "invalid_request_error"),
            R"({"error":{"message":"a \"b\"","type":"invalid_request_error"}})");
}

TEST(ServeTest, AFolderWithoutAProgramIsRefused) {
  std::stringstream out, err;
  EXPECT_EQ(RunServe("cleave serve", "", {testing::TempDir() + "/none", "--port", "0"}, out, err),
            ExitCode::kEnvironment);
  EXPECT_NE(err.str().find("cannot start `"), std::string::npos) << err.str();
}

}  // namespace
}  // namespace cleave::tools
