// What the tests of sources share.
#ifndef CLEAVE_RUNTIME_DATA_TESTING_H_
#define CLEAVE_RUNTIME_DATA_TESTING_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "runtime/data/data.h"
#include "runtime/error/error.h"

namespace cleave::runtime {

// The message with which opening was refused, without the folder of the files; "no error" where it was not.
inline std::string MistakeOf(const Result<std::unique_ptr<Batches>>& batches, const std::string& folder) {
  if (batches.ok()) return "no error";
  EXPECT_EQ(batches.error().code, ExitCode::kInput);
  std::string text = batches.error().message;
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return text;
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_TESTING_H_
