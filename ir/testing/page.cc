#include "ir/testing/page.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace cleave::ir {
namespace {

std::string ReadPage(const std::string& path) {
  std::ifstream page(path, std::ios::binary);
  EXPECT_TRUE(page.good()) << path;
  std::stringstream text;
  text << page.rdbuf();
  return text.str();
}

}  // namespace

void CheckPage(const std::string& path, const std::string& expected) {
  if (const char* root = std::getenv("CLEAVE_BLESS"); root != nullptr) {
    std::ofstream page(absl::StrCat(root, "/", path), std::ios::binary);
    page << expected;
    EXPECT_TRUE(page.good()) << "cannot write " << path;
    return;
  }
  EXPECT_EQ(ReadPage(path), expected) << "if this is wanted: bazel run //:bless";
}

void CheckPartOfPage(const std::string& path, absl::string_view begin, absl::string_view end,
                     const std::string& expected) {
  std::string page = ReadPage(path);
  const size_t first = page.find(begin.data(), 0, begin.size());
  const size_t last = page.find(end.data(), 0, end.size());
  ASSERT_TRUE(first != std::string::npos && last != std::string::npos && first < last) << path;
  page.replace(first + begin.size(), last - first - begin.size(), expected);
  CheckPage(path, page);
}

}  // namespace cleave::ir
