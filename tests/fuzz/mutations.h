// Inputs that are made from others at random.
#ifndef CLEAVE_TESTS_FUZZ_MUTATIONS_H_
#define CLEAVE_TESTS_FUZZ_MUTATIONS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cleave::tests::fuzz {

// Longer inputs are cut.
constexpr size_t kLongestInput = size_t{1} << 16;

// One of `corpus` with one to four random changes: bits, words, numbers, and pieces that are taken away, doubled, or
// come from another one. REQUIRES: `corpus` is not empty.
std::string Mutated(const std::vector<std::string>& corpus, const std::vector<std::string>& words,
                    std::mt19937_64& random);

// The words of a dictionary of libFuzzer: in quotes, with the escapes \\, \" and \xAB.
std::vector<std::string> DictionaryWords(const std::string& text);

}  // namespace cleave::tests::fuzz

#endif  // CLEAVE_TESTS_FUZZ_MUTATIONS_H_
