// The conversation at the terminal.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "runtime/generate/answers.h"  // IWYU pragma: associated
#include "runtime/generate/input_lines.h"

namespace cleave::runtime {
namespace {

class Conversation {
 public:
  explicit Conversation(Session& session) : session_(session) {
    if (!session.options.system.empty()) messages_.push_back({"system", session.options.system});
    // Under mpirun input comes through a pipe, and only run.sh sees the terminal.
    const char* const progress = std::getenv("CLEAVE_PROGRESS");
    shows_prompt_ = isatty(STDIN_FILENO) != 0 || (progress != nullptr && *progress == '1');
  }

  std::optional<Error> Run() {
    for (;;) {
      const std::optional<std::string> line = Ask();
      if (!line.has_value()) return std::nullopt;
      if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
      messages_.push_back({"user", *line});
      if (std::optional<Error> error = Reply()) return error;
    }
  }

 private:
  std::optional<std::string> Ask() {
    if (shows_prompt_) Print("> ");
    for (;;) {
      if (std::optional<std::string> line = lines_.Next(kSecondsBetweenSigns)) return line;
      if (lines_.AreOver()) break;
      session_.continuation.Wait();
    }
    if (shows_prompt_) Print("\n");
    return std::nullopt;
  }

  std::optional<Error> Reply() {
    Result<std::vector<int32_t>> tokens = Encode();
    if (!tokens.ok()) return tokens.error();
    const Result<Sequence> sequence = SequenceOf(session_, std::move(tokens.value()), session_.options.length);
    if (!sequence.ok()) return sequence.error();
    TextAnswer answer(sequence.value(), session_.tokenizer, session_.options.stops);
    TextAnswer* next = &answer;
    const Asker asker = {.next = [&] { return std::exchange(next, nullptr); },
                         .show = [](const TextAnswer&, const std::string& piece) { Print(ValidUtf8(piece)); },
                         .done = [](TextAnswer&) {}};
    if (std::optional<Error> error = Continue(session_, asker)) return error;
    Print("\n");
    messages_.push_back({"assistant", ValidUtf8(answer.text)});
    return std::nullopt;
  }

  // The tokens of the conversation, behind which there is room for an answer.
  Result<std::vector<int32_t>> Encode() {
    const int64_t places = session_.places();
    const int64_t room = session_.options.drops_oldest ? session_.options.length.value_or(places / 4) : 1;
    for (;;) {
      Result<std::vector<int32_t>> tokens = session_.chat->Encode(messages_);
      if (!tokens.ok()) return tokens.error();
      const auto count = static_cast<int64_t>(tokens.value().size());
      if (count + room <= places) return tokens;
      if (session_.options.drops_oldest && DropOldest()) continue;
      return Error{ExitCode::kUsage,
                   Format("the conversation has %" PRId64 " tokens, and the model %" PRId64 " places%s", count, places,
                          session_.options.drops_oldest
                              ? Format(", of which %" PRId64 " are for the answer (`--length`)", room).c_str()
                              : ": begin another one, or let it forget its oldest turns with `--drop-oldest`")};
    }
  }

  // What was said up to the second question; false where there is none.
  bool DropOldest() {
    const size_t first = messages_.front().role == "system" ? 1 : 0;
    size_t second = first + 1;
    while (second < messages_.size() && messages_[second].role != "user") ++second;
    if (second >= messages_.size()) return false;
    messages_.erase(messages_.begin() + static_cast<ptrdiff_t>(first),
                    messages_.begin() + static_cast<ptrdiff_t>(second));
    return true;
  }

  static void Print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  Session& session_;
  InputLines lines_;
  bool shows_prompt_ = false;
  std::vector<ChatMessage> messages_;
};

}  // namespace

std::optional<Error> ChatAtTerminal(Session& session) { return Conversation(session).Run(); }

}  // namespace cleave::runtime
