#include "codegen/source/makefile.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

TEST(MakefileTest, LibrariesAreLinkedWhereTheyAreNeeded) {
  const std::string none = Makefile({}, {});
  EXPECT_FALSE(absl::StrContains(none, "-lz"));
  EXPECT_FALSE(absl::StrContains(none, "-lpcre2-8"));
  EXPECT_FALSE(absl::StrContains(none, "-lpng"));
  const std::string both = Makefile({}, {.read_compressed_files = true, .read_tokenizers = true});
  EXPECT_TRUE(absl::StrContains(both, "LDLIBS += -lz\n"));
  EXPECT_TRUE(absl::StrContains(both, "LDLIBS += -lpcre2-8\n"));
  EXPECT_TRUE(absl::StrContains(both, "(Debian: libpcre2-dev)"));
  const std::string images = Makefile({}, {.folders = {}, .read_images = true});
  EXPECT_TRUE(absl::StrContains(images, "LDLIBS += -ljpeg -lpng\n"));
  EXPECT_TRUE(absl::StrContains(images, "(Debian: libjpeg-dev)"));
}

}  // namespace
}  // namespace cleave::codegen
