#include "tests/layering/layering.h"

#include "gtest/gtest.h"

namespace cleave::tests::layering {
namespace {

// The messages that a source file with one line, `include`, gets.
std::string Source(absl::string_view path, absl::string_view include) {
  std::string messages;
  for (const Finding& finding : CheckSource(path, include)) messages += ToString(finding) + "\n";
  return messages;
}

std::string Build(absl::string_view path, absl::string_view text) {
  std::string messages;
  for (const Finding& finding : CheckBuild(path, text)) messages += ToString(finding) + "\n";
  return messages;
}

TEST(CheckSourceTest, EdgesFollowTheOrderOfLayers) {
  struct Include {
    const char* path;
    const char* header;
    bool allowed;
  };
  const Include cases[] = {
      {"base/text/text.cc", "base/check/check.h", true},
      {"base/text/text.cc", "ir/graph/graph.h", false},
      {"dsl/parse/parse.cc", "base/source/source.h", true},
      {"dsl/parse/parse.cc", "ir/graph/graph.h", false},
      {"ir/sharding/plan/plan.cc", "dsl/syntax/syntax.h", false},
      {"ir/sharding/plan/plan.cc", "search/price/cost/cost.h", false},
      {"runtime/train/train.cc", "base/text/text.h", false},
      {"runtime/train/train.cc", "runtime/data/data.h", true},
      {"frontend/scope/scope.cc", "dsl/syntax/syntax.h", true},
      {"frontend/scope/scope.cc", "search/solve/sapp/sapp.h", false},
      {"search/solve/sapp/sapp.cc", "ir/sharding/mesh/mesh.h", true},
      {"search/solve/sapp/sapp.cc", "search/price/cost/cost.h", true},
      {"search/price/cost/cost.cc", "search/solve/sapp/sapp.h", false},
      {"search/knobs/staging.cc", "search/search.h", false},
      {"search/solve/sapp/sapp_test.cc", "search/search.h", true},
      {"ir/sharding/mesh/mesh.cc", "ir/graph/graph.h", true},
      {"ir/graph/graph.cc", "ir/sharding/mesh/mesh.h", false},
      {"ir/graph/graph_test.cc", "ir/proof/check/check.h", true},
      {"ir/transforms/precision/precision.cc", "ir/program/program.h", false},
      {"ir/proof/check/check.cc", "ir/program/program.h", true},
      {"search/solve/sapp/sapp.cc", "frontend/frontend.h", false},
      {"search/solve/sapp/sapp.cc", "codegen/cpp/cpp.h", false},
      {"codegen/cpu/cpu.cc", "search/solve/sapp/sapp.h", false},
      {"codegen/cpu/cpu.cc", "runtime/data/data.h", false},
      {"tools/compile.cc", "codegen/cpu/cpu.h", true},
      {"tools/driver/files.cc", "runtime/npy/npy.h", true},
      {"tools/compile.cc", "tests/support/support.h", false},
      {"tests/end_to_end/run_test.cc", "runtime/data/data.h", true},
      {"bench/step/step.cc", "tools/driver/options.h", true},
      {"ir/sharding/plan/plan.cc", "irregular/plan.h", true},
  };
  for (const Include& item : cases) {
    const std::string messages = Source(item.path, "#include \"" + std::string(item.header) + "\"\n");
    EXPECT_EQ(messages.empty(), item.allowed) << item.path << " includes " << item.header << "\n" << messages;
  }
}

TEST(CheckSourceTest, SaysWhereAndWhat) {
  EXPECT_EQ(Source("ir/sharding/mesh/mesh.cc", "// A mesh.\n\n#  include \"search/solve/sapp/sapp.h\"\n"),
            "ir/sharding/mesh/mesh.cc:3: `ir` may not use `search`: search/solve/sapp/sapp.h\n");
}

TEST(CheckSourceTest, VendorHeadersStayInTheirCrates) {
  EXPECT_EQ(Source("runtime/comm/mpi/mpi.cc", "#include <mpi.h>\n"), "");
  EXPECT_EQ(Source("runtime/comm/gloo/transport.cc", "#include <gloo/context.h>\n"), "");
  EXPECT_NE(Source("runtime/comm/mpi/mpi.cc", "#include <gloo/context.h>\n"), "");
  EXPECT_EQ(Source("runtime/train/train.cc", "#include <mpi.h>\n"),
            "runtime/train/train.cc:1: headers of MPI have no place here: mpi.h\n");
  EXPECT_EQ(Source("runtime/math/onednn/matmul.cc", "#include <dnnl.hpp>\n"), "");
  EXPECT_NE(Source("runtime/comm/mpi/mpi.cc", "#include <dnnl.hpp>\n"), "");
  EXPECT_EQ(Source("runtime/tokenizer/pcre2/regex.cc", "#include <pcre2.h>\n"), "");
  EXPECT_NE(Source("runtime/tokenizer/bpe/model.cc", "#include <pcre2.h>\n"), "");
  EXPECT_EQ(Source("runtime/image/png/png.cc", "#include <png.h>\n"), "");
  EXPECT_NE(Source("runtime/image/jpeg/jpeg.cc", "#include <png.h>\n"), "");
  EXPECT_NE(Source("runtime/data/image_file.cc", "#include <jpeglib.h>\n"), "");
  EXPECT_NE(Source("codegen/cpu/cpu.cc", "#include <oneapi/dnnl/dnnl.hpp>\n"), "");
  EXPECT_NE(Source("runtime/device/device.cc", "#include <cuda_runtime.h>\n"), "");
  EXPECT_NE(Source("runtime/train/train.cc", "#include \"absl/strings/str_cat.h\"\n"), "");
  EXPECT_NE(Source("frontend/scope/scope.cc", "#include \"antlr4-runtime.h\"\n"), "");
  EXPECT_EQ(Source("dsl/parse/parse.cc", "#include \"antlr4-runtime.h\"\n"), "");
}

TEST(CheckSourceTest, EmittedTextAndCommentsAreNoIncludes) {
  EXPECT_EQ(Source("codegen/cpu/cpu.cc", "emit(R\"(\n#include <mpi.h>\n)\");\n"), "");
  EXPECT_EQ(Source("codegen/cpu/cpu.cc", "emit(R\"x(\n\")\"\n#include <mpi.h>\n)x\");\n"), "");
  EXPECT_EQ(Source("codegen/cpu/cpu.cc", "/*\n#include <mpi.h>\n*/\n"), "");
  EXPECT_EQ(Source("codegen/cpu/cpu.cc", "// R\"(\nint x;\n"), "");
  EXPECT_NE(Source("codegen/cpu/cpu.cc", "// R\"(\n#include <mpi.h>\n"), "");
  EXPECT_NE(Source("codegen/cpu/cpu.cc", "emit(R\"(\n)\");\n#include <mpi.h>\n"), "");
  EXPECT_NE(Source("codegen/cpu/cpu.cc", "emit(\"// R\\\"(\");\n#include <mpi.h>\n"), "");
}

TEST(CheckBuildTest, LabelsFollowTheOrderOfLayers) {
  EXPECT_EQ(Build("ir/sharding/mesh/BUILD.bazel", "# The mesh.\ndeps = [\n    \"//search/solve/sapp\",\n]\n"),
            "ir/sharding/mesh/BUILD.bazel:3: `ir` may not use `search`: //search/solve/sapp\n");
  EXPECT_EQ(Build("ir/sharding/mesh/BUILD.bazel",
                  "# The mesh.\n\"//base/check\", \"//third_party/absl:span\", \"//:ir_users\"\n"),
            "");
  EXPECT_EQ(Build("ir/sharding/mesh/BUILD.bazel", "# The mesh.\nvisibility = [\"//search:__subpackages__\"]\n"), "");
  EXPECT_NE(Build("ir/sharding/mesh/BUILD.bazel", "# The mesh.\ndeps = [\"//base/check\", \"//tools/driver\"]\n"), "");
  EXPECT_EQ(Build("dsl/grammar/BUILD.bazel", "# The grammar.\nload(\"//tools/build:antlr.bzl\", \"x\")\n"), "");
  EXPECT_NE(Build("runtime/data/BUILD.bazel", "# All data.\n\"//base/text\"\n"), "");
}

TEST(CheckBuildTest, PlainTextMayBeReadFromTheRight) {
  EXPECT_EQ(Build("codegen/runtime_files/BUILD.bazel", "# Some text.\n\"//runtime:files\"\n"), "");
  EXPECT_EQ(Build("codegen/runtime_files/BUILD.bazel", "# Some text.\n\"//runtime:sources\"\n"), "");
  EXPECT_EQ(Build("frontend/BUILD.bazel", "# Some text.\n\"//examples/mnist_mlp:mnist_mlp.model\"\n"), "");
  EXPECT_NE(Build("frontend/BUILD.bazel", "# Some text.\n\"//runtime:sources\"\n"), "");
  EXPECT_NE(Build("codegen/cpu/BUILD.bazel", "# Some text.\n\"//runtime/data\"\n"), "");
  EXPECT_NE(Build("search/solve/sapp/BUILD.bazel", "# Some text.\n\"//runtime:files\"\n"), "");
}

TEST(CheckBuildTest, TheStandInTakesThePlaceOfLibraries) {
  EXPECT_EQ(Build("runtime/comm/nccl/BUILD.bazel", "# NCCL only.\n\"//tests/stand_in:nccl\"\n"), "");
  EXPECT_EQ(Build("codegen/BUILD.bazel", "# Some text.\n\"//tests/stand_in:files\"\n"), "");
  EXPECT_NE(Build("runtime/comm/nccl/BUILD.bazel", "# NCCL only.\n\"//tests/stand_in_too\"\n"), "");
  EXPECT_NE(Build("search/solve/sapp/BUILD.bazel", "# Some text.\n\"//tests/stand_in\"\n"), "");
  EXPECT_NE(Build("runtime/comm/nccl/BUILD.bazel", "# NCCL only.\n\"//tests/support\"\n"), "");
}

TEST(CheckBuildTest, FirstLineIsASentence) {
  EXPECT_NE(Build("ir/sharding/mesh/BUILD.bazel", "cc_library(\n"), "");
  EXPECT_NE(Build("ir/sharding/mesh/BUILD.bazel", "# mesh of devices\n"), "");
  EXPECT_NE(Build("third_party/absl/BUILD.bazel", "\n# Abseil for all.\n"), "");
  EXPECT_EQ(Build("third_party/absl/BUILD.bazel", "# Abseil for all.\n"), "");
  EXPECT_EQ(Build("third_party/absl/BUILD.bazel", "# Abseil, as Debian\n# brings it.\ncc_library(\n"), "");
}

TEST(VisibleTypesTest, AreThoseThatOtherFilesMayDefineToo) {
  const std::string text = R"(namespace cleave::ir {
namespace {
struct Own {
};
}  // namespace
class Op : public Node {
  struct Inner {
  };
};
struct Declared;
template <typename T>
struct View {
};
template <typename T> class Box {
};
struct View<int> {
};
}  // namespace cleave::ir
)";
  EXPECT_EQ(VisibleTypes(text), (std::vector<std::string>{"cleave::ir::Op", "cleave::ir::View", "cleave::ir::Box"}));
}

}  // namespace
}  // namespace cleave::tests::layering
