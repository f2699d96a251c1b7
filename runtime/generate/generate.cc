// Reading guide: Run opens what rank 0 reads and lets the others follow it; Lead chooses between prompts, a
// conversation and requests.
#include "runtime/generate/generate.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "runtime/generate/answers.h"
#include "runtime/generate/continuation.h"
#include "runtime/launch/launch.h"
#include "runtime/tokenizer/tokenizer.h"

namespace cleave::runtime {
namespace {

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

class Generator {
 public:
  explicit Generator(const GenerateRequest& request) : request_(request), continuation_(request) {}

  Result<GenerationRecord> Run() {
    // Rank 0 alone reads files and draws.
    request_.watch.Start("the prompts", 0);
    const bool leads = continuation_.leads();
    if (std::optional<Error> error = Agree(request_.comm, leads ? Open() : std::nullopt)) return *error;
    request_.watch.Finish();
    std::optional<Error> error;
    if (leads) {
      error = Lead();
      continuation_.End();
    } else {
      continuation_.Follow();
    }
    error = Agree(request_.comm, error);
    if (error.has_value()) return *error;
    return continuation_.record();
  }

 private:
  // Reads the flags and opens the tokenizer.
  std::optional<Error> Open() {
    Result<GenerationOptions> options = ParseGeneration(request_.flags);
    if (!options.ok()) return options.error();
    options_ = std::move(options.value());
    const std::string& path = options_.tokenizer.empty() ? request_.settings.tokenizer : options_.tokenizer;
    const int64_t symbols = continuation_.symbols();
    Result<std::unique_ptr<Tokenizer>> tokenizer = request_.settings.open_tokenizer(path, symbols);
    if (!tokenizer.ok()) return tokenizer.error();
    tokenizer_ = std::move(tokenizer.value());
    if (symbols > 0 && tokenizer_->size() > symbols) {
      return Error{ExitCode::kInput, Format("the tokenizer has %" PRId64 " tokens, and the model knows %" PRId64,
                                            tokenizer_->size(), symbols)};
    }
    if (options_.chats || !options_.chat_file.empty()) {
      if (std::optional<Error> error = OpenChat(path)) return error;
    }
    return FindEnds();
  }

  // A conversation needs a template; requests may be prompts.
  std::optional<Error> OpenChat(const std::string& path) {
    Result<std::unique_ptr<ChatFormat>> chat =
        Error{ExitCode::kUsage,
              "a conversation needs the chat template of a tokenizer.json: compile the model with `--tokenizer`"};
    if (request_.settings.open_chat != nullptr) chat = request_.settings.open_chat(path);
    if (chat.ok()) {
      chat_ = std::move(chat.value());
      ends_ = chat_->Ends();
    } else if (options_.chats) {
      return chat.error();
    }
    return std::nullopt;
  }

  std::optional<Error> FindEnds() {
    for (const std::string& name : options_.ends) {
      const std::optional<int32_t> end = tokenizer_->Find(name);
      if (!end.has_value()) {
        return Error{ExitCode::kUsage, Format("`--end %s` is no token of the tokenizer", name.c_str())};
      }
      ends_.push_back(*end);
    }
    return std::nullopt;
  }

  std::optional<Error> Lead() {
    Session session = {request_, options_, *tokenizer_, chat_.get(), ends_, continuation_};
    if (options_.chats) return ChatAtTerminal(session);
    if (!options_.chat_file.empty()) return AnswerRequests(session);
    return ContinuePrompts(session);
  }

  // One text alone is shown as its tokens come, several when those before are there.
  std::optional<Error> ContinuePrompts(Session& session) {
    std::vector<TextAnswer> answers;
    for (const std::string& text : options_.prompts) {
      Result<std::vector<int32_t>> tokens = tokenizer_->Encode(text);
      if (!tokens.ok()) return tokens.error();
      const Result<Sequence> sequence = SequenceOf(session, std::move(tokens.value()), options_.length);
      if (!sequence.ok()) return sequence.error();
      const int64_t left = session.places() - sequence.value().prompt;
      if (options_.length.value_or(0) > left) {
        return Error{ExitCode::kUsage,
                     Format("`--length %" PRId64 "`: the model has %" PRId64 " places, and the prompt takes %" PRId64,
                            *options_.length, session.places(), sequence.value().prompt)};
      }
      for (int64_t i = 0; i < options_.samples; ++i) {
        answers.emplace_back(sequence.value(), *tokenizer_, options_.stops);
        answers.back().sequence.number = static_cast<int64_t>(answers.size()) - 1;
      }
    }
    std::vector<std::string> prompts;
    for (TextAnswer& answer : answers) prompts.push_back(answer.stream.Begin(answer.sequence.tokens));
    const bool is_alone = answers.size() == 1;
    if (is_alone) Print(prompts.front());
    const auto show = [&](const std::string& piece) {
      if (is_alone) Print(piece);
    };
    const auto done = [&](size_t i) {
      Print(is_alone ? "\n" : Format("--- %zu ---\n", i + 1) + prompts[i] + answers[i].text + "\n");
    };
    return ContinueAll(session, answers, show, done);
  }

  const GenerateRequest& request_;
  Continuation continuation_;
  // On rank 0.
  GenerationOptions options_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatFormat> chat_;
  std::vector<int32_t> ends_;  // Tokens that end a text.
};

}  // namespace

Result<GenerationRecord> Generate(const GenerateRequest& request) { return Generator(request).Run(); }

}  // namespace cleave::runtime
