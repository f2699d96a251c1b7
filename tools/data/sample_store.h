// Private to tools/data: samples of tokens and labels in a file without a name, of which memory holds only the lengths.
#ifndef CLEAVE_TOOLS_DATA_SAMPLE_STORE_H_
#define CLEAVE_TOOLS_DATA_SAMPLE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic/diagnostic.h"

namespace cleave::tools {

// What is to be learned at a place where nothing is.
constexpr int32_t kNoLabel = -100;

// A token, and the one that is to be predicted behind it or kNoLabel.
struct LabelledToken {
  int32_t token;
  int32_t label;

  bool operator==(const LabelledToken&) const = default;
};

class SampleStore {
 public:
  SampleStore() = default;
  SampleStore(const SampleStore&) = delete;
  ~SampleStore();

  // Its file goes away with it, also if the program ends early.
  std::optional<Diagnostic> Create(const std::string& folder);

  // `conversation`: which one it is a part of; these do not decrease. REQUIRES: the sample is not empty.
  std::optional<Diagnostic> Add(const LabelledToken* begin, const LabelledToken* end, uint32_t conversation);
  std::optional<Diagnostic> Finish();  // Before the first Read.

  const std::vector<uint32_t>& lengths() const { return lengths_; }
  const std::vector<uint32_t>& conversations() const { return conversations_; }

  std::optional<Diagnostic> Read(uint32_t sample, std::vector<LabelledToken>& tokens) const;

 private:
  std::optional<Diagnostic> Flush();

  std::string folder_;
  int descriptor_ = -1;
  uint64_t written_ = 0;  // Tokens in the file.
  std::vector<LabelledToken> pending_;
  std::vector<uint32_t> lengths_, conversations_;
  std::vector<uint64_t> begins_;
};

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DATA_SAMPLE_STORE_H_
