// Reading guide: Step is what rank 0 does, Follow what the others do, and Compute what they do together.
#include "runtime/generate/continuation.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/device/memory.h"
#include "runtime/kernels/observer.h"
#include "runtime/launch/launch.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

// The tokens, behind which the numbers of their places stand where the model asks for them.
const ModelInput& TokensOf(const GenerateRequest& request) { return request.inputs.front(); }

std::vector<Staging::Target> TargetsOf(const std::vector<ModelInput>& inputs) {
  std::vector<Staging::Target> targets;
  for (const ModelInput& input : inputs) {
    targets.push_back({input.integers, ElementCount(input.region.size) * static_cast<int64_t>(sizeof(int32_t))});
  }
  return targets;
}

int64_t SameAtBegin(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  const auto both = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return std::mismatch(a.begin(), a.begin() + both, b.begin()).first - a.begin();
}

// What rank 0 says: one of these letters, and behind kDraw and kCompute the tokens and places of the step, as bytes.
constexpr char kWait = 'w', kEnd = 'e', kDraw = 'd', kCompute = 'c';

}  // namespace

Continuation::Continuation(const GenerateRequest& request)
    : request_(request),
      staging_(TargetsOf(request.inputs), Staging::Writing::kBetweenSteps),
      places_(TokensOf(request).region.shape[1]),
      slots_(static_cast<size_t>(TokensOf(request).region.shape[0])) {}

int64_t Continuation::symbols() const { return TokensOf(request_).limit; }

bool Continuation::HasRoom() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.sequence == nullptr; });
}

bool Continuation::IsIdle() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.sequence == nullptr; });
}

size_t Continuation::Begin(Sequence& sequence) {
  size_t best = slots_.size();
  int64_t most = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].sequence != nullptr) continue;
    const int64_t same = SameAtBegin(sequence.tokens, slots_[i].remembered);
    // Of equals that which was left first: what the others remember may be asked for again.
    const bool is_better = best == slots_.size() || same > most || (same == most && slots_[i].left < slots_[best].left);
    if (is_better) {
      best = i;
      most = same;
    }
  }
  slots_[best].sequence = &sequence;
  // Of a sequence at least the last known place is computed, for its logits.
  slots_[best].remembered.resize(static_cast<size_t>(std::min(most, sequence.size() - 1)));
  return best;
}

void Continuation::Leave(size_t slot) {
  const Sequence& sequence = *std::exchange(slots_[slot].sequence, nullptr);
  slots_[slot].left = steps_;
  record_.prompt_tokens += sequence.prompt;
  record_.tokens += sequence.size() - sequence.prompt;
}

// A prompt is taken in windows as wide as a step; behind it a window ends with the last token that is known. That of a
// free slot computes what it remembers once more.
Continuation::Window Continuation::WindowOf(const Slot& slot) const {
  const auto done = static_cast<int64_t>(slot.remembered.size());
  const int64_t known = slot.sequence == nullptr ? done : slot.sequence->size();
  const int64_t end = std::min(known, done + places_);
  return {std::max<int64_t>(0, end - places_), end, slot.sequence != nullptr && end == known};
}

// What stands behind the last known token is computed again when it is known.
Continuation::StepInputs Continuation::InputsOf(const std::vector<Window>& windows) const {
  StepInputs inputs;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const std::vector<int32_t>& own = slots_[i].sequence == nullptr ? slots_[i].remembered : slots_[i].sequence->tokens;
    for (int64_t place = windows[i].begin; place < windows[i].begin + places_; ++place) {
      inputs.tokens.push_back(place < windows[i].end ? own[static_cast<size_t>(place)] : 0);
      inputs.places.push_back(static_cast<int32_t>(place));
    }
    inputs.draws = inputs.draws || windows[i].draws;
  }
  return inputs;
}

std::optional<Error> Continuation::Step(int64_t tokens, const TakeToken& take) {
  const double start = Now();
  std::vector<Window> windows;
  for (const Slot& slot : slots_) windows.push_back(WindowOf(slot));
  const StepInputs inputs = InputsOf(windows);
  std::string message(1, inputs.draws ? kDraw : kCompute);
  for (const std::vector<int32_t>* const numbers : {&inputs.tokens, &inputs.places}) {
    message.append(reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(int32_t));
  }
  Say(message);
  Compute(inputs);
  ++steps_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.sequence == nullptr) continue;
    const auto done = static_cast<int64_t>(slot.remembered.size());
    const std::vector<int32_t>& own = slot.sequence->tokens;
    slot.remembered.insert(slot.remembered.end(), own.begin() + done, own.begin() + windows[i].end);
    if (inputs.draws) continue;
    const int64_t prompt = slot.sequence->prompt;
    record_.computed_prompt_tokens += std::min(windows[i].end, prompt) - std::min(done, prompt);
  }
  std::optional<Error> error;
  if (inputs.draws) error = Draw(windows, tokens, take);
  (inputs.draws ? record_.seconds : record_.prompt_seconds) += Now() - start;
  return error;
}

void Continuation::Wait() { Say({kWait}); }
void Continuation::End() { Say({kEnd}); }

void Continuation::Follow() {
  for (;;) {
    const std::string said = Say("");
    if (said[0] == kEnd) return;
    if (said[0] == kWait) {
      // Who waits for others in MPI keeps a core busy.
      std::this_thread::sleep_for(std::chrono::duration<double>(0.9 * kSecondsBetweenSigns));
      continue;
    }
    StepInputs inputs;
    const size_t count = slots_.size() * static_cast<size_t>(places_);
    inputs.draws = said[0] == kDraw;
    const char* from = said.data() + 1;
    for (std::vector<int32_t>* const numbers : {&inputs.tokens, &inputs.places}) {
      numbers->resize(count);
      std::memcpy(numbers->data(), from, count * sizeof(int32_t));
      from += count * sizeof(int32_t);
    }
    Compute(inputs);
  }
}

std::string Continuation::Say(const std::string& message) {
  request_.watch.Start("the next step", 0);
  std::string said = FromFirst(request_.comm, message);
  request_.watch.Finish();
  return said;
}

// The rank's pieces of the inputs, and the step. Logits that nobody draws from are not collected.
void Continuation::Compute(const StepInputs& inputs) {
  request_.observer.Begin(inputs.draws ? Occasion::kTest : Occasion::kAgain);
  const std::vector<void*> targets = staging_.Next();
  for (size_t i = 0; i < targets.size(); ++i) {
    const Region& region = request_.inputs[i].region;
    const std::vector<int32_t>& all = i == 0 ? inputs.tokens : inputs.places;
    auto* to = static_cast<int32_t*>(targets[i]);
    for (int64_t slot = region.begin[0]; slot < region.begin[0] + region.size[0]; ++slot) {
      to = std::copy_n(all.begin() + slot * places_ + region.begin[1], region.size[1], to);
    }
  }
  staging_.Send();
  staging_.Deliver();
  request_.step();
  request_.watch.Start("the next tokens", 0);
  request_.observer.Show();
  request_.watch.Finish();
}

std::optional<Error> Continuation::Draw(const std::vector<Window>& windows, int64_t tokens, const TakeToken& take) {
  const std::vector<OutputTensor> outputs = request_.observer.TakeOutputs();
  const std::vector<double>& logits = outputs.front().values;
  const int64_t symbols = outputs.front().shape.back();
  // A model may have more symbols than there are tokens.
  std::vector<float> row(static_cast<size_t>(std::min(symbols, tokens)));
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!windows[i].draws) continue;
    Sequence& sequence = *slots_[i].sequence;
    const int64_t place = static_cast<int64_t>(i) * places_ + windows[i].end - 1 - windows[i].begin;
    const auto begin = logits.begin() + place * symbols;
    std::transform(begin, begin + static_cast<int64_t>(row.size()), row.begin(),
                   [](double value) { return static_cast<float>(value); });
    const Result<int32_t> token = SampleToken(row.data(), static_cast<int64_t>(row.size()), sequence.sampling,
                                              {sequence.seed, sequence.number, windows[i].end});
    if (!token.ok()) return token.error();
    sequence.tokens.push_back(token.value());
    sequence.has_ended = !take(i);
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
