// Draws the next token from the logits of all tokens.
//
//   const Sampling sampling = {.temperature = 0.8, .top_k = 40};
//   if (std::optional<Error> error = CheckSampling(sampling)) return *error;
//   Result<int32_t> token = SampleToken(logits, count, sampling, {seed, sequence, place});
#ifndef CLEAVE_RUNTIME_SAMPLING_SAMPLING_H_
#define CLEAVE_RUNTIME_SAMPLING_SAMPLING_H_

#include <cstdint>
#include <optional>

#include "runtime/error/error.h"

namespace cleave::runtime {

struct Sampling {
  double temperature = 1;  // Logits are divided by it; 0 takes the largest logit.
  int64_t top_k = 0;       // Only this many tokens, those with the largest logits; 0 keeps all.
  double top_p = 1;        // Only as many tokens, the likeliest first, as together reach this probability.
};

// An Error with exit code 2 unless temperature is finite and at least 0, top_k at least 0, and 0 < top_p <= 1.
std::optional<Error> CheckSampling(const Sampling& sampling);

// Which draw it is. The same one gives the same token, whatever was drawn before.
struct SamplingPlace {
  uint64_t seed = 0;
  int64_t sequence = 0;  // Of several that are drawn from one prompt.
  int64_t place = 0;     // Of the token in its sequence.
};

// A token in [0, count). Of equal logits the lower token comes first. An Error where a logit is not finite.
//
// REQUIRES: count >= 1; CheckSampling finds no error.
Result<int32_t> SampleToken(const float* logits, int64_t count, const Sampling& sampling, const SamplingPlace& place);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_SAMPLING_SAMPLING_H_
