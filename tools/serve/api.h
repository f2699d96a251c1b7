// Private to tools/serve: requests in the form of OpenAI's interface as requests of a generating program
// (docs/inference.md), and what it answers as responses.
//
//   Result<ApiRequest> request = ReadApiRequest(ApiKind::kChat, body, "net");
//   program.Send(ProgramLine(request.value(), "7"));
//
// Field names: https://platform.openai.com/docs/api-reference/chat and …/completions
#ifndef CLEAVE_TOOLS_SERVE_API_H_
#define CLEAVE_TOOLS_SERVE_API_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/json/json.h"

namespace cleave::tools {

enum class ApiKind { kChat, kCompletion };

struct ApiRequest {
  ApiKind kind = ApiKind::kChat;
  bool streams = false;
  bool includes_usage = false;  // At the end of a stream.
  // Members of the program's request but for its `id`, as JSON: {"temperature", "0.7"}.
  std::vector<std::pair<std::string, std::string>> members;
};

// An Error is a sentence for who has sent it: "`n` is 3, and one answer is all that is made". What is asked for and is
// not done is refused, and so is another model than `model`, with the code kUsage; all other errors are kInput.
runtime::Result<ApiRequest> ReadApiRequest(ApiKind kind, const std::string& body, const std::string& model);

// The line for the program.
std::string ProgramLine(const ApiRequest& request, const std::string& id);

// How an answer ended.
struct ApiEnd {
  std::string reason;  // "stop" or "length".
  int64_t prompt_tokens = 0;
  int64_t tokens = 0;
};

// What the objects of one answer have in common.
struct ApiAnswer {
  ApiKind kind = ApiKind::kChat;
  std::string id, model;
  int64_t created = 0;  // Seconds since 1970.
};

std::string WholeResponse(const ApiAnswer& answer, const std::string& text, const ApiEnd& end);

// The objects of a stream: the one before all others, one with a piece of the text, the last, and the one with `usage`
// behind it. The first is empty where there is none.
std::string FirstChunk(const ApiAnswer& answer);
std::string TextChunk(const ApiAnswer& answer, const std::string& piece);
std::string LastChunk(const ApiAnswer& answer, const ApiEnd& end);
std::string UsageChunk(const ApiAnswer& answer, const ApiEnd& end);

std::string ModelsResponse(const std::string& model, int64_t created);

// {"error": {"message": …, "type": "invalid_request_error", …}}
std::string ErrorResponse(const std::string& message, const std::string& type);

// A parsed value as text: numbers as they were written, members in the order in which they stood.
std::string JsonText(const runtime::Json& value);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_SERVE_API_H_
