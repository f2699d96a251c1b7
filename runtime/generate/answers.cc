#include "runtime/generate/answers.h"

#include <algorithm>
#include <cinttypes>

namespace cleave::runtime {

Result<Sequence> SequenceOf(const Session& session, std::vector<int32_t> prompt, std::optional<int64_t> length) {
  const auto count = static_cast<int64_t>(prompt.size());
  if (count == 0) return Error{ExitCode::kUsage, "the prompt has no tokens, and the model continues a text"};
  if (count >= session.places()) {
    return Error{ExitCode::kUsage, Format("the prompt has %" PRId64 " tokens, and the model %" PRId64
                                          " places: none is left for a new token",
                                          count, session.places())};
  }
  Sequence sequence;
  sequence.tokens = std::move(prompt);
  sequence.prompt = count;
  sequence.most = std::min(session.places(), count + length.value_or(session.places()));
  sequence.sampling = session.options.sampling;
  sequence.seed = session.request.seed;
  return sequence;
}

std::optional<Error> Continue(Session& session, const Asker& asker) {
  Continuation& steps = session.continuation;
  std::vector<TextAnswer*> in_slots(steps.slots(), nullptr);
  const auto add = [&](TextAnswer& answer, const std::string& piece) {
    if (piece.empty()) return;
    answer.text += piece;
    asker.show(answer, piece);
  };
  const auto take = [&](size_t slot) {
    TextAnswer& answer = *in_slots[slot];
    const int32_t token = answer.sequence.tokens.back();
    if (std::count(session.ends.begin(), session.ends.end(), token) > 0) return false;
    add(answer, answer.stream.Add(token));
    return !answer.stream.has_stopped();
  };
  for (;;) {
    for (size_t slot = 0; slot < in_slots.size(); ++slot) {
      TextAnswer* const answer = in_slots[slot];
      if (answer == nullptr || (answer->is_wanted && !answer->sequence.IsDone())) continue;
      steps.Leave(slot);
      in_slots[slot] = nullptr;
      add(*answer, answer->stream.Rest());
      answer->is_cut_short = !answer->sequence.has_ended;
      asker.done(*answer);
    }
    while (steps.HasRoom()) {
      TextAnswer* const answer = asker.next();
      if (answer == nullptr) break;
      in_slots[steps.Begin(answer->sequence)] = answer;
    }
    if (steps.IsIdle()) return std::nullopt;
    if (std::optional<Error> error = steps.Step(session.tokenizer.size(), take)) return error;
  }
}

std::optional<Error> ContinueAll(Session& session, std::vector<TextAnswer>& answers,
                                 const std::function<void(const std::string& piece)>& show,
                                 const std::function<void(size_t answer)>& done) {
  std::vector<bool> is_done(answers.size());
  size_t begun = 0, told = 0;
  return Continue(session, {.next = [&] { return begun < answers.size() ? &answers[begun++] : nullptr; },
                            .show = [&](const TextAnswer&, const std::string& piece) { show(piece); },
                            .done =
                                [&](TextAnswer& answer) {
                                  is_done[static_cast<size_t>(&answer - answers.data())] = true;
                                  for (; told < is_done.size() && is_done[told]; ++told) done(told);
                                }});
}

}  // namespace cleave::runtime
