// Private to runtime/data: what sources of token windows have in common.
#ifndef CLEAVE_RUNTIME_DATA_TOKEN_WINDOWS_H_
#define CLEAVE_RUNTIME_DATA_TOKEN_WINDOWS_H_

#include <cstdint>
#include <vector>

#include "runtime/data/source.h"

namespace cleave::runtime {

// The field that is one token later than the other.
constexpr int kNext = 1;

// One in this many is for testing where nothing else is.
constexpr int64_t kTestShare = 10;

struct TokenWindows {
  std::vector<int> fields;  // As OpenedSource has them.
  int64_t length = 1;       // Tokens of a sample, of each field.
  int64_t limit = 0;        // Tokens lie below it; 0: any do.
};

// Of a model's inputs; an Error where they are not such windows.
Result<TokenWindows> TokenWindowsOf(const std::vector<ModelInput>& inputs);

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_TOKEN_WINDOWS_H_
