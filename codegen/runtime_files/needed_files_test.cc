#include "codegen/runtime_files/needed_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

// A runtime of two kernels; the second uses the first, and a table.
constexpr RuntimeFile kFiles[] = {
    {"runtime/custom/view.h", "struct View {\n};\n"},
    {"runtime/error/error.cc", "#include \"runtime/error/error.h\"\n"},
    {"runtime/error/error.h", "struct Error {\n};\n"},
    {"runtime/kernels/cpu/fast_sine.cc",
     "#include \"runtime/error/error.h\"\n#include \"runtime/kernels/sine.h\"  // IWYU pragma: associated\n"},
    {"runtime/kernels/cpu/table.cc", "#include \"runtime/kernels/cpu/table.h\"\n"},
    {"runtime/kernels/cpu/table.h", "int Table();\n"},
    {"runtime/kernels/cpu/wave.cc",
     "#include <cmath>\n\n#include \"runtime/kernels/cpu/table.h\"\n#include \"runtime/kernels/wave.h\"\n"},
    {"runtime/kernels/sine.h", "// As in Wave.\nvoid Sine();\n"},
    {"runtime/kernels/wave.h", "#include \"runtime/kernels/sine.h\"\n\nvoid Wave();\n"},
    {"runtime/objects/objects.sh", "# Names.\n"},
    {"runtime/runtime.h",
     "// All.\n#include \"runtime/kernels/sine.h\"\n#include \"runtime/kernels/wave.h\"  // IWYU pragma: export\n\n"
     "#endif\n"},
    {"runtime/scheduler/scheduler.cc", "#include \"runtime/error/error.h\"\n"},
    {"runtime/starter/starter.cc", "#include \"runtime/error/error.h\"\n"},
};

std::string PathsFor(absl::string_view program) {
  return absl::StrJoin(NeededFiles(program, kFiles), " ", [](std::string* text, const NeededFile& file) {
    absl::StrAppend(text, absl::StripPrefix(file.path, "runtime/"));
  });
}

std::string TextFor(absl::string_view program, absl::string_view path) {
  for (const NeededFile& file : NeededFiles(program, kFiles)) {
    if (file.path == path) return file.text;
  }
  return "no such file";
}

TEST(NeededFiles, AreThoseOfTheNamesInTheProgram) {
  constexpr absl::string_view kNone = "#include \"runtime/runtime.h\"\nSines(); Wav(); e();\n";
  EXPECT_EQ(PathsFor(kNone),
            "error/error.cc error/error.h objects/objects.sh runtime.h scheduler/scheduler.cc starter/starter.cc");
  EXPECT_EQ(TextFor(kNone, "runtime/runtime.h"), "// All.\n\n#endif\n");
  constexpr absl::string_view kSine = "#include \"runtime/runtime.h\"\nSine();\n";
  EXPECT_EQ(PathsFor(kSine),
            "error/error.cc error/error.h kernels/cpu/fast_sine.cc kernels/sine.h objects/objects.sh runtime.h "
            "scheduler/scheduler.cc starter/starter.cc");
  EXPECT_EQ(TextFor(kSine, "runtime/runtime.h"), "// All.\n#include \"runtime/kernels/sine.h\"\n\n#endif\n");
}

TEST(NeededFiles, BringWhatTheyInclude) {
  EXPECT_EQ(PathsFor("#include \"runtime/runtime.h\"\nWave();\n"),
            "error/error.cc error/error.h kernels/cpu/fast_sine.cc kernels/cpu/table.cc kernels/cpu/table.h "
            "kernels/cpu/wave.cc kernels/sine.h kernels/wave.h objects/objects.sh runtime.h scheduler/scheduler.cc "
            "starter/starter.cc");
  EXPECT_EQ(PathsFor("#include \"runtime/kernels/sine.h\"\n"),
            "error/error.cc error/error.h kernels/cpu/fast_sine.cc kernels/sine.h objects/objects.sh "
            "scheduler/scheduler.cc starter/starter.cc");
}

TEST(NeededFiles, ForBodiesOfOpsAreViewsOfTensors) {
  EXPECT_EQ(PathsFor("#include \"custom/soft_cap.h\"\n"),
            "custom/view.h error/error.cc error/error.h objects/objects.sh scheduler/scheduler.cc starter/starter.cc");
}

TEST(NeededFilesDeathTest, AHeaderThatIsNotThereIsNoticed) {
  EXPECT_EXIT(NeededFiles("#include \"runtime/kernels/cosine.h\"\n", kFiles), testing::ExitedWithCode(70),
              "runtime/kernels/cosine.h");
}

TEST(DeclaredNames, AreThoseOutsideOfTypes) {
  constexpr char kHeader[] =
      "// Text\n"
      "#ifndef GUARD_H_\n"
      "#include <cmath>\n"
      "namespace cleave::runtime {\n"
      "class Later;\n"
      "struct Shape {\n"
      "  int64_t rows = 0;\n"
      "  int64_t Size() const;\n"
      "};\n"
      "class Rank final {\n"
      " public:\n"
      "  Rank();\n"
      "};\n"
      "enum class Kind { kOne, kTwo };\n"
      "using Lists = std::vector<std::vector<int>>;\n"
      "constexpr int64_t kLargest = 128;\n"
      "inline constexpr char kMask[] = \"mask\";\n"
      "template <typename T>\n"
      "void Attention(const Shape& shape, const T* q, T* out,\n"
      "               int64_t count = 1);\n"
      "CLEAVE_PORTABLE inline float Square(float x) { return x * x; }\n"
      "std::optional<Error> Check(const std::vector<int>& files);\n"
      "}  // namespace cleave::runtime\n"
      "#endif\n";
  EXPECT_EQ(absl::StrJoin(DeclaredNames(kHeader), " "),
            "Later Shape Rank Kind Lists kLargest kMask Attention Square Check");
}

// Every source is found through its own header: a program that names everything gets all files.
TEST(RuntimeFiles, AreAllNeededByAProgramThatNamesEverything) {
  std::string program = "#include \"custom/body.h\"\n";
  for (const char* header : {"device/cuda/cuda.h", "device/cuda/loop_batch.cuh", "device/cuda/step_numbers.h",
                             "device/cuda/vector.cuh", "device/memory.h", "measure/measure.h", "runtime.h"}) {
    absl::StrAppend(&program, "#include \"runtime/", header, "\"\n");
  }
  for (const RuntimeFile& file : RuntimeFiles()) {
    for (const absl::string_view name : DeclaredNames(file.text)) absl::StrAppend(&program, name, "\n");
  }
  std::vector<std::string> missing;
  const std::vector<NeededFile> needed = NeededFiles(program, RuntimeFiles());
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (std::none_of(needed.begin(), needed.end(), [&](const NeededFile& other) { return other.path == file.path; })) {
      missing.push_back(std::string(file.path));
    }
  }
  EXPECT_TRUE(missing.empty()) << absl::StrJoin(missing, "\n");
}

// Functions that a file defines for others, and classes whose functions it defines: "Class" of "void Class::Name(".
std::set<std::string> DefinedNames(absl::string_view source) {
  std::set<std::string> names;
  bool is_private = false;
  for (const absl::string_view line : absl::StrSplit(source, '\n')) {
    if (line == "namespace {") is_private = true;
    if (line == "}  // namespace") is_private = false;
    const size_t end = line.find('(');
    if (is_private || end == line.npos || !absl::ascii_isalpha(static_cast<unsigned char>(line[0]))) continue;
    if (absl::StartsWith(line, "template ")) continue;
    const absl::string_view declarator = line.substr(0, end);
    const size_t begin = declarator.rfind(' ') + 1;  // 0 for a constructor.
    absl::string_view name = declarator.substr(begin);
    while (absl::ConsumePrefix(&name, "*") || absl::ConsumePrefix(&name, "&")) continue;
    names.insert(std::string(name.substr(0, name.find("::"))));
  }
  return names;
}

// A program that needs a header gets every file that defines something of it, so none that it needs is missing when it
// is linked. Most tests of programs would not see that: they build them with the whole runtime.
TEST(RuntimeFiles, AreThoseThatDefineWhatAHeaderDeclares) {
  std::map<std::string, std::set<absl::string_view>> sources;
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (absl::EndsWith(file.path, ".h") || absl::EndsWith(file.path, ".cuh")) continue;
    for (const std::string& name : DefinedNames(file.text)) sources[name].insert(file.path);
  }
  size_t count = 0;
  for (const RuntimeFile& header : RuntimeFiles()) {
    if (!absl::EndsWith(header.path, ".h") && !absl::EndsWith(header.path, ".cuh")) continue;
    std::set<std::string> needed;
    const std::string program =
        absl::StrCat("#include \"runtime/runtime.h\"\n#include \"", header.path, "\"\nTrain(settings);\n");
    for (const NeededFile& file : NeededFiles(program, RuntimeFiles())) {
      needed.insert(file.path);
    }
    for (const absl::string_view name : DeclaredNames(header.text)) {
      if (absl::StrContains(header.text, absl::StrCat("class ", name, ";"))) continue;
      for (const absl::string_view source : sources[std::string(name)]) {
        // A program that names an Observer gets this file by show.h, and others call nothing of it.
        if (name == "Observer" && source == "runtime/kernels/show.cc") continue;
        ++count;
        EXPECT_EQ(needed.count(std::string(source)), 1u) << header.path << " declares " << name << " of " << source;
      }
    }
  }
  EXPECT_GT(count, 400u);
}

// Only what reads a tokenizer.json needs PCRE2.
TEST(RuntimeFiles, OfTokenizersAreThoseOfOneKind) {
  const auto needs_pcre2 = [](absl::string_view call) {
    const std::vector<NeededFile> needed =
        NeededFiles(absl::StrCat("#include \"runtime/runtime.h\"\n", call), RuntimeFiles());
    return std::any_of(needed.begin(), needed.end(),
                       [](const NeededFile& file) { return absl::StrContains(file.text, "#include <pcre2.h>"); });
  };
  EXPECT_TRUE(needs_pcre2("OpenTokenizerJson(path);\n"));
  EXPECT_FALSE(needs_pcre2("OpenByteTokenizer(path, 65);\n"));
  EXPECT_FALSE(needs_pcre2("Tokens(path); SampleToken(logits, 65, sampling, place);\n"));
}

TEST(RuntimeFiles, OfASmallProgramAreFew) {
  const std::vector<NeededFile> needed =
      NeededFiles("#include \"runtime/runtime.h\"\nFill(0.0f, 512, x); Train(settings);\n", RuntimeFiles());
  std::set<std::string> paths;
  for (const NeededFile& file : needed) paths.insert(file.path);
  for (const char* path : {"kernels/cpu/movement.cc", "train/train.cc", "comm/mpi/job.cc", "comm/meeting/job.cc",
                           "comm/local/job.cc", "starter/starter.cc", "placement/rank_table.cc"}) {
    EXPECT_EQ(paths.count(absl::StrCat("runtime/", path)), 1u) << path;
  }
  for (const char* path : {"kernels/cpu/pooling.cc", "kernels/attention.h", "data/mnist.cc", "data/gzip.cc",
                           "npy/npy.cc", "einsum/einsum.cc", "custom/view.h", "math/onednn/matmul.cc"}) {
    EXPECT_EQ(paths.count(absl::StrCat("runtime/", path)), 0u) << path;
  }
}

}  // namespace
}  // namespace cleave::codegen
