// Reading guide: Compute is the loop; Fill and Draw are what comes before and behind a step.
#include "runtime/generate/continuation.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/device/memory.h"
#include "runtime/kernels/observer.h"
#include "runtime/launch/launch.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

bool IsPlace(const ModelInput& input) { return input.region.shape.size() == 1; }

const ModelInput& TokensOf(const GenerateRequest& request) {
  return *std::find_if_not(request.inputs.begin(), request.inputs.end(), IsPlace);
}

std::vector<Staging::Target> TargetsOf(const std::vector<ModelInput>& inputs) {
  std::vector<Staging::Target> targets;
  for (const ModelInput& input : inputs) {
    targets.push_back({input.integers, ElementCount(input.region.size) * static_cast<int64_t>(sizeof(int32_t))});
  }
  return targets;
}

// The number of places whose tokens are known in all sequences that are not done; 0 where all are.
int64_t KnownOf(const Sequences& some) {
  int64_t known = 0;
  for (const Sequence& sequence : some) {
    if (!sequence.IsDone() && (known == 0 || sequence.size() < known)) known = sequence.size();
  }
  return known;
}

// 0 where there is none: rows of a batch may be empty, and sequences end.
int32_t TokenAt(const Sequences& some, int64_t row, int64_t place) {
  if (row >= static_cast<int64_t>(some.size())) return 0;
  const Sequence& sequence = some[static_cast<size_t>(row)];
  return place < sequence.size() ? sequence.tokens[static_cast<size_t>(place)] : 0;
}

// What rank 0 says instead of sequences.
constexpr char kWait[] = "wait";
constexpr char kEnd[] = "end";

}  // namespace

Continuation::Continuation(const GenerateRequest& request)
    : request_(request),
      staging_(TargetsOf(request.inputs), Staging::Writing::kBetweenSteps),
      window_(TokensOf(request).region.shape[1]),
      remembered_(static_cast<size_t>(TokensOf(request).region.shape[0])) {}

int64_t Continuation::batch() const { return TokensOf(request_).region.shape[0]; }
int64_t Continuation::symbols() const { return TokensOf(request_).limit; }

std::optional<Error> Continuation::Run(Sequences& some, int64_t tokens, const TakeToken& take) {
  NumberLists lists;
  for (const Sequence& sequence : some) {
    lists.push_back({static_cast<int32_t>(sequence.most)});
    lists.back().insert(lists.back().end(), sequence.tokens.begin(), sequence.tokens.end());
  }
  FromFirst(request_.comm, ListsText(lists));
  std::optional<Error> error = Compute(some, tokens, take);
  has_failed_ = error.has_value();
  return error;
}

void Continuation::Wait() { FromFirst(request_.comm, kWait); }
void Continuation::End() { FromFirst(request_.comm, kEnd); }

std::optional<Error> Continuation::Follow() {
  for (;;) {
    const std::string said = FromFirst(request_.comm, "");
    if (said == kWait) {
      // Who waits for others in MPI keeps a core busy.
      std::this_thread::sleep_for(std::chrono::duration<double>(0.9 * kSecondsBetweenSigns));
      continue;
    }
    if (said == kEnd) return std::nullopt;
    Sequences some;
    for (const std::vector<int32_t>& list : ListsOf(said)) {
      Sequence sequence;
      sequence.most = list.front();
      sequence.tokens.assign(list.begin() + 1, list.end());
      sequence.prompt = sequence.size();
      some.push_back(std::move(sequence));
    }
    if (std::optional<Error> error = Compute(some, 0, nullptr)) return error;
  }
}

// The places from the first on that need not be computed. Of each sequence at least the last known one is, for its
// logits.
int64_t Continuation::KeptOf(const Sequences& some) const {
  int64_t kept = INT64_MAX;
  for (size_t i = 0; i < some.size(); ++i) {
    const std::vector<int32_t>&own = some[i].tokens, &old = remembered_[i];
    const auto both = static_cast<int64_t>(std::min(own.size(), old.size()));
    const int64_t same = std::mismatch(own.begin(), own.begin() + both, old.begin()).first - own.begin();
    kept = std::min({kept, same, some[i].size() - 1});
  }
  return kept;
}

std::optional<Error> Continuation::Compute(Sequences& some, int64_t tokens, const TakeToken& take) {
  int64_t done = KeptOf(some);                                   // Places that the program remembers.
  for (NumberLists::value_type& row : remembered_) row.clear();  // Should it end with an error.
  for (int64_t known = KnownOf(some); known > 0; known = KnownOf(some)) {
    const double start = Now();
    // A prompt is taken in windows as wide as a step; behind it a step ends with the last token that is known.
    const int64_t end = std::min(known, done + window_);
    const Window window = {std::max<int64_t>(0, end - window_), end};
    const auto ends_here = [&](const Sequence& sequence) { return sequence.EndsAt(end - 1); };
    const bool draws = std::any_of(some.begin(), some.end(), ends_here);
    // Logits that nobody draws from are not collected.
    request_.observer.Begin(draws ? Occasion::kTest : Occasion::kAgain);
    Fill(some, window);
    request_.step();
    request_.watch.Start("the next tokens", 0);
    request_.observer.Show();
    if (draws) {
      if (std::optional<Error> error = Draw(some, window, tokens, take)) return error;
    } else {
      for (const Sequence& sequence : some) {
        record_.computed_prompt_tokens += std::min(end, sequence.prompt) - std::min(done, sequence.prompt);
      }
    }
    done = end;
    request_.watch.Finish();
    (draws ? record_.seconds : record_.prompt_seconds) += Now() - start;
  }
  for (size_t i = 0; i < some.size(); ++i) {
    remembered_[i] = some[i].tokens;
    remembered_[i].resize(std::min(remembered_[i].size(), static_cast<size_t>(done)));
    record_.prompt_tokens += some[i].prompt;
    record_.tokens += some[i].size() - some[i].prompt;
  }
  return std::nullopt;
}

// Sends the tokens at these places. What stands behind the last known one is computed again when it is known.
void Continuation::Fill(const Sequences& some, const Window& window) {
  const std::vector<void*> targets = staging_.Next();
  for (size_t i = 0; i < targets.size(); ++i) {
    const Region& region = request_.inputs[i].region;
    auto* values = static_cast<int32_t*>(targets[i]);
    if (IsPlace(request_.inputs[i])) {
      for (int64_t j = 0; j < region.size[0]; ++j) *values++ = static_cast<int32_t>(window.begin + region.begin[0] + j);
      continue;
    }
    for (int64_t row = region.begin[0]; row < region.begin[0] + region.size[0]; ++row) {
      for (int64_t j = 0; j < region.size[1]; ++j) *values++ = TokenAt(some, row, window.begin + region.begin[1] + j);
    }
  }
  staging_.Send();
  staging_.Deliver();
}

// Draws the next token of the sequences that end with the window. Rank 0 says for each whether the sequence goes on.
std::optional<Error> Continuation::Draw(Sequences& some, const Window& window, int64_t tokens, const TakeToken& take) {
  Comm& comm = request_.comm;
  std::vector<size_t> drawing;
  for (size_t i = 0; i < some.size(); ++i) {
    if (some[i].EndsAt(window.end - 1)) drawing.push_back(i);
  }
  Result<std::vector<int32_t>> drawn = std::vector<int32_t>();
  std::string mine;
  if (leads()) {
    drawn = DrawnTokens(some, window, tokens);
    NumberLists lists(2);
    for (size_t i = 0; drawn.ok() && i < drawing.size(); ++i) {
      Sequence& sequence = some[drawing[i]];
      sequence.tokens.push_back(drawn.value()[i]);
      lists[0].push_back(drawn.value()[i]);
      lists[1].push_back(take(drawing[i]) ? 0 : 1);
      sequence.has_ended = lists[1].back() != 0;
    }
    if (drawn.ok()) mine = ListsText(lists);
  }
  const std::string said = FromFirst(comm, mine);
  if (said.empty()) return Agree(comm, drawn.ok() ? std::nullopt : std::optional<Error>(drawn.error()));
  if (leads()) return std::nullopt;
  const NumberLists lists = ListsOf(said);
  for (size_t i = 0; i < drawing.size(); ++i) {
    some[drawing[i]].tokens.push_back(lists[0][i]);
    some[drawing[i]].has_ended = lists[1][i] != 0;
  }
  return std::nullopt;
}

Result<std::vector<int32_t>> Continuation::DrawnTokens(const Sequences& some, const Window& window, int64_t tokens) {
  const std::vector<OutputTensor> outputs = request_.observer.TakeOutputs();
  const std::vector<double>& logits = outputs.front().values;
  const int64_t symbols = outputs.front().shape.back();
  // A model may have more symbols than there are tokens.
  std::vector<float> row(static_cast<size_t>(std::min(symbols, tokens)));
  std::vector<int32_t> drawn;
  for (size_t i = 0; i < some.size(); ++i) {
    if (!some[i].EndsAt(window.end - 1)) continue;
    const int64_t place = static_cast<int64_t>(i) * window_ + window.end - 1 - window.begin;
    const auto begin = logits.begin() + place * symbols;
    std::transform(begin, begin + static_cast<int64_t>(row.size()), row.begin(),
                   [](double value) { return static_cast<float>(value); });
    const Result<int32_t> token = SampleToken(row.data(), static_cast<int64_t>(row.size()), some[i].sampling,
                                              {some[i].seed, some[i].number, window.end});
    if (!token.ok()) return token.error();
    drawn.push_back(token.value());
  }
  return drawn;
}

}  // namespace cleave::runtime
