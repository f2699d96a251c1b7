// Temperature, top-k and nucleus sampling, as in Holtzman, Buys, Du, Forbes, Choi: The Curious Case of Neural Text
// Degeneration (ICLR 2020).
#include "runtime/sampling/sampling.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

struct Candidate {
  int32_t token;
  float logit;
  double weight;  // Its probability times a number that is the same for all.
};

bool ComesBefore(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

std::vector<Candidate> AllCandidates(const float* logits, int64_t count, float largest, double temperature) {
  std::vector<Candidate> candidates;
  candidates.reserve(static_cast<size_t>(count));
  for (int64_t token = 0; token < count; ++token) {
    const double distance = static_cast<double>(logits[token]) - largest;
    candidates.push_back({static_cast<int32_t>(token), logits[token], std::exp(distance / temperature)});
  }
  return candidates;
}

void KeepLargest(int64_t top_k, std::vector<Candidate>& candidates) {
  if (top_k == 0 || top_k >= static_cast<int64_t>(candidates.size())) return;
  std::nth_element(candidates.begin(), candidates.begin() + top_k, candidates.end(), ComesBefore);
  candidates.resize(static_cast<size_t>(top_k));
}

double TotalWeight(const std::vector<Candidate>& candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  return total;
}

// The fewest candidates that reach the share of the weight: a heap gives them in order, and only them.
void KeepNucleus(double top_p, std::vector<Candidate>& candidates) {
  if (top_p == 1) return;
  const double wanted = top_p * TotalWeight(candidates);
  const auto comes_after = [](const Candidate& a, const Candidate& b) { return ComesBefore(b, a); };
  std::make_heap(candidates.begin(), candidates.end(), comes_after);
  std::vector<Candidate> kept;
  double weight = 0;
  do {
    std::pop_heap(candidates.begin(), candidates.end(), comes_after);
    weight += candidates.back().weight;
    kept.push_back(candidates.back());
    candidates.pop_back();
  } while (weight < wanted && !candidates.empty());
  candidates = std::move(kept);
}

// The sums then do not depend on how a standard library partitions.
void SortByToken(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
}

// In [0, 1), of 53 bits.
double Uniform(const SamplingPlace& place) {
  const PhiloxKey key = StreamKey({place.seed, "sampling"});
  const PhiloxBlock block = PhiloxAt(key, static_cast<uint64_t>(place.place), static_cast<uint64_t>(place.sequence));
  const uint64_t bits = (uint64_t{block[0]} << 32 | block[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

int32_t Draw(const std::vector<Candidate>& candidates, const SamplingPlace& place) {
  const double drawn = Uniform(place) * TotalWeight(candidates);
  double weight = 0;
  int32_t last = candidates[0].token;
  for (const Candidate& candidate : candidates) {
    if (candidate.weight == 0) continue;
    weight += candidate.weight;
    last = candidate.token;
    if (drawn < weight) break;
  }
  return last;
}

}  // namespace

std::optional<Error> CheckSampling(const Sampling& sampling) {
  const auto wrong = [](const std::string& message) { return Error{ExitCode::kUsage, message}; };
  if (!std::isfinite(sampling.temperature) || sampling.temperature < 0) {
    return wrong(Format("the temperature is %g, and must be finite and at least 0", sampling.temperature));
  }
  if (sampling.top_k < 0) {
    return wrong(Format("top_k is %" PRId64 ", and must be a number of tokens, or 0 for all", sampling.top_k));
  }
  if (!(sampling.top_p > 0 && sampling.top_p <= 1)) {
    return wrong(Format("top_p is %g, and must be above 0 and at most 1", sampling.top_p));
  }
  return std::nullopt;
}

Result<int32_t> SampleToken(const float* logits, int64_t count, const Sampling& sampling, const SamplingPlace& place) {
  int64_t largest = 0;
  for (int64_t token = 0; token < count; ++token) {
    if (!std::isfinite(logits[token])) {
      return Error{ExitCode::kNotFinite,
                   Format("cannot draw token %" PRId64 " of sequence %" PRId64 ": the logit of token %" PRId64 " is %g",
                          place.place, place.sequence, token, static_cast<double>(logits[token]))};
    }
    if (logits[token] > logits[largest]) largest = token;
  }
  if (sampling.temperature == 0) return static_cast<int32_t>(largest);
  std::vector<Candidate> candidates = AllCandidates(logits, count, logits[largest], sampling.temperature);
  KeepLargest(sampling.top_k, candidates);
  KeepNucleus(sampling.top_p, candidates);
  if (static_cast<int64_t>(candidates.size()) < count) SortByToken(candidates);
  return Draw(candidates, place);
}

}  // namespace cleave::runtime
