// Handwritten-like digits without a file. A digit is a few strokes in the unit square; a sample bends, slants, scales,
// turns and shifts them, draws them with a pen of its own width and pressure, and adds what a scanner adds.
//
//   uint8_t pixels[kDigitSide * kDigitSide];
//   DrawDigit(seed, sample, pixels);  // Shows DigitOf(seed, sample).
//
// A sample is a function of its seed and its number. May be called from several threads.
#ifndef CLEAVE_RUNTIME_DIGITS_DIGITS_H_
#define CLEAVE_RUNTIME_DIGITS_DIGITS_H_

#include <cstdint>

namespace cleave::runtime {

constexpr int kDigitSide = 28;
constexpr int kDigitClasses = 10;

// Which digit a sample of the seed's stream shows.
uint8_t DigitOf(uint64_t seed, int64_t sample);

// Writes its kDigitSide x kDigitSide pixels, row-major; 0 is background.
void DrawDigit(uint64_t seed, int64_t sample, uint8_t* pixels);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DIGITS_DIGITS_H_
