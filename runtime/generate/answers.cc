#include "runtime/generate/answers.h"

#include <algorithm>
#include <cinttypes>
#include <numeric>

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

std::optional<Error> ContinueTogether(Session& session, const std::vector<TextAnswer*>& answers, const ShowText& show) {
  Sequences some;
  for (const TextAnswer* const answer : answers) some.push_back(answer->sequence);
  const auto add = [&](size_t i, const std::string& piece) {
    if (piece.empty()) return;
    answers[i]->text += piece;
    show(i, piece);
  };
  const auto take = [&](size_t i) {
    const int32_t token = some[i].tokens.back();
    if (std::count(session.ends.begin(), session.ends.end(), token) > 0) return false;
    add(i, answers[i]->stream.Add(token));
    return answers[i]->is_wanted && !answers[i]->stream.has_stopped();
  };
  if (auto error = session.continuation.Run(some, session.tokenizer.size(), take)) return error;
  for (size_t i = 0; i < answers.size(); ++i) {
    add(i, answers[i]->stream.Rest());
    answers[i]->is_cut_short = !some[i].has_ended;
    answers[i]->sequence = std::move(some[i]);
  }
  return std::nullopt;
}

std::optional<Error> ContinueAll(Session& session, std::vector<TextAnswer>& answers, const ShowText& show,
                                 const std::function<void(size_t answer)>& done) {
  std::vector<size_t> order(answers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto batch = static_cast<size_t>(session.continuation.batch());
  if (answers.size() > batch) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return answers[a].sequence.prompt > answers[b].sequence.prompt; });
  }
  std::vector<bool> is_done(answers.size());
  size_t told = 0;
  for (size_t first = 0; first < order.size(); first += batch) {
    const size_t count = std::min(batch, order.size() - first);
    std::vector<TextAnswer*> some;
    for (size_t i = 0; i < count; ++i) some.push_back(&answers[order[first + i]]);
    const auto show_one = [&](size_t i, const std::string& piece) { show(order[first + i], piece); };
    if (auto error = ContinueTogether(session, some, show_one)) return error;
    for (size_t i = 0; i < count; ++i) is_done[order[first + i]] = true;
    for (; told < is_done.size() && is_done[told]; ++told) done(told);
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
