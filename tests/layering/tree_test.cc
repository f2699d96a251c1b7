#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/layering/layering.h"

namespace cleave::tests::layering {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders[] = {"base", "bench",   "codegen", "dsl",   "examples", "frontend",
                                    "ir",   "runtime", "search",  "tests", "tools",    "third_party"};

// The project's root, found through the link to WORKSPACE among the test's data.
fs::path Root() { return fs::canonical("WORKSPACE").parent_path(); }

std::string Read(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Every regular file below the layers and third_party, as a path from the root, sorted.
std::set<std::string> FilesOfTheTree() {
  std::set<std::string> files;
  for (const char* folder : kFolders) {
    if (!fs::exists(Root() / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(Root() / folder)) {
      if (entry.is_regular_file() && !entry.is_symlink())
        files.insert(entry.path().lexically_relative(Root()).string());
    }
  }
  return files;
}

bool IsSource(const std::string& path) {
  for (const char* ending : {".h", ".cc", ".cu", ".cuh"}) {
    if (absl::EndsWith(path, ending)) return true;
  }
  return false;
}

void Expect(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) ADD_FAILURE() << ToString(finding);
}

TEST(TreeTest, TheTreeIsFound) {
  const std::set<std::string> files = FilesOfTheTree();
  EXPECT_TRUE(files.count("tests/layering/tree_test.cc")) << Root();
  EXPECT_TRUE(files.count("base/check/check.h")) << Root();
}

TEST(TreeTest, IncludesFollowTheOrderOfLayers) {
  for (const std::string& path : FilesOfTheTree()) {
    if (IsSource(path)) Expect(CheckSource(path, Read(Root() / path)));
  }
}

TEST(TreeTest, BuildFilesFollowTheOrderOfLayers) {
  for (const std::string& path : FilesOfTheTree()) {
    if (fs::path(path).filename() == "BUILD.bazel") Expect(CheckBuild(path, Read(Root() / path)));
  }
  Expect(CheckBuild("BUILD.bazel", Read(Root() / "BUILD.bazel")));
}

// The compiler and the program use the same code for files that both read, and what that code needs.
TEST(TreeTest, TheCompilerLinksOfTheRuntimeOnlyReadersOfFiles) {
  const std::string labels = Read("tests/layering/linked_into_the_compiler");
  EXPECT_TRUE(absl::StrContains(labels, "//codegen:codegen\n")) << labels;
  const std::set<std::string> readers = {"//runtime/checkpoint:checkpoint",
                                         "//runtime/custom:custom",
                                         "//runtime/data:data",
                                         "//runtime/device/cpu:cpu",
                                         "//runtime/device:device",
                                         "//runtime/digest:digest",
                                         "//runtime/digits:digits",
                                         "//runtime/error:error",
                                         "//runtime/file:file",
                                         "//runtime/image:image",
                                         "//runtime/image/jpeg:jpeg",
                                         "//runtime/image/png:png",
                                         "//runtime/json:json",
                                         "//runtime/mesh:mesh",
                                         "//runtime/npy:npy",
                                         "//runtime/placement:placement",
                                         "//runtime/progress:progress",
                                         "//runtime/random:random",
                                         "//runtime/safetensors:safetensors",
                                         "//runtime/tokenizer:tokenizer",
                                         "//runtime/trace:trace",
                                         "//runtime/utf8:utf8"};
  for (const absl::string_view label : absl::StrSplit(labels, '\n')) {
    if (readers.count(std::string(label)) > 0) continue;
    for (const char* layer : {"runtime", "tests", "bench", "examples"}) {
      EXPECT_FALSE(absl::StartsWith(label, absl::StrCat("//", layer, "/"))) << label;
    }
  }
}

TEST(TreeTest, NoTypeIsDefinedTwice) {
  std::map<std::string, std::string> defined_in;
  for (const std::string& path : FilesOfTheTree()) {
    // What models bring, and what takes the place of a library, is never linked together.
    if (!IsSource(path) || absl::StartsWith(path, "tests/") || absl::StartsWith(path, "examples/")) continue;
    for (const std::string& type : VisibleTypes(Read(Root() / path))) {
      const auto [found, is_new] = defined_in.emplace(type, path);
      EXPECT_TRUE(is_new) << type << " is defined in " << found->second << " and in " << path;
    }
  }
  EXPECT_GT(defined_in.size(), 500);
}

TEST(TreeTest, EveryCrateHasAReadme) {
  const std::set<std::string> files = FilesOfTheTree();
  for (const std::string& path : files) {
    if (fs::path(path).filename() != "BUILD.bazel" || absl::StartsWith(path, "third_party/")) continue;
    const std::string readme = (fs::path(path).parent_path() / "README.md").string();
    EXPECT_TRUE(files.count(readme)) << readme << " is missing";
  }
}

}  // namespace
}  // namespace cleave::tests::layering
