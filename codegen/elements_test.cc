// Compares elementwise ops as generated programs compute them, in f32, with the reference in double: every use of every
// such op among the samples, with numbers of every size.
#include "codegen/source/elements.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/fixtures/workspace.h"
#include "codegen/runtime_files/runtime_files.h"
#include "gtest/gtest.h"
#include "ir/graph/ops/ops.h"
#include "ir/graph/ops/samples.h"
#include "ir/program/program.h"

namespace cleave::codegen {
namespace {

// A use of an op, as a function of the program of this test.
struct Use {
  ir::Sample sample;
  std::string text;  // In terms of the parameters "a", "b" and "c".
  size_t inputs() const { return sample.types.size(); }
};

const char* const kParameters[] = {"a", "b", "c", "d"};

bool IsReal(const ir::Sample& sample) {
  for (const ir::TensorType& type : sample.types) {
    if (type.dtype != ir::DType::kF32) return false;
  }
  return sample.output.dtype == ir::DType::kF32;
}

std::string ValueText(const ir::Sample& sample, ElementFunctions& functions) {
  ir::Program program;
  program.values.push_back({.name = "v", .type = sample.output, .layout = ir::Layout::Replicated(1)});
  ir::Compute compute{.op = ir::OpId(0),
                      .kind = sample.op->kind,
                      .attributes = sample.attributes,
                      .inputs = {},
                      .output = ir::ValueId(0)};
  std::vector<cpp::Expr> arguments;
  for (size_t i = 0; i < sample.types.size(); ++i) {
    compute.inputs.push_back(ir::ValueId(0));
    arguments.push_back(cpp::Name(kParameters[i]));
  }
  return ElementValue(program, compute, arguments, functions).Text();
}

std::vector<Use> Uses(ElementFunctions& functions) {
  std::vector<Use> uses;
  for (const ir::OpDefinition* op : ir::AllOps()) {
    if (!op->element.has_value()) continue;
    ir::Random random(5);
    for (ir::Sample& sample : ir::SamplesOf(op->kind, random)) {
      if (!IsReal(sample)) continue;
      std::string text = ValueText(sample, functions);
      uses.push_back({.sample = std::move(sample), .text = std::move(text)});
    }
  }
  return uses;
}

std::vector<float> Numbers(size_t inputs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (inputs > 3) return {0.0f, 1.0f, -1.0f, 0.3f, 2.5f, -60.0f, 3e3f, kInfinity, -kInfinity, std::nanf("")};
  std::vector<float> numbers = {0.0f,  -0.0f,  1.0f,  -1.0f,  0.3f,   -0.3f,   2.5f, -2.5f, 11.0f,   -9.0f,
                                60.0f, -60.0f, 1e-3f, -1e-3f, 1e-41f, -1e-41f, 3e3f, -3e3f, 0.99999f};
  for (int i = -200; inputs == 1 && i <= 200; ++i) numbers.push_back(static_cast<float>(i) * 0.1037f);
  for (const float number : {kInfinity, std::nanf(""), -kInfinity}) numbers.push_back(number);
  return numbers;
}

// Every combination of numbers for the inputs, one after another.
std::vector<std::vector<float>> Arguments(size_t inputs) {
  std::vector<std::vector<float>> arguments = {{}};
  for (size_t i = 0; i < inputs; ++i) {
    std::vector<std::vector<float>> longer;
    for (const std::vector<float>& begin : arguments) {
      for (const float number : Numbers(inputs)) {
        longer.push_back(begin);
        longer.back().push_back(number);
      }
    }
    arguments = std::move(longer);
  }
  return arguments;
}

uint32_t BitsOf(float number) {
  uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

// A program that prints the bits of the value of every use at all its arguments.
std::string ProgramText(const std::vector<Use>& uses, const ElementFunctions& functions) {
  std::string text =
      "#include <cmath>\n#include <cstdio>\n#include <cstring>\n#include \"runtime/kernels/elementwise.h\"\n"
      "using namespace cleave::runtime;\nnamespace {\n";
  absl::StrAppend(&text, functions.definitions().Text());
  for (size_t u = 0; u < uses.size(); ++u) {
    absl::StrAppend(&text, "float Use", u, "(const float* at) {\n");
    for (size_t i = 0; i < uses[u].inputs(); ++i) {
      absl::StrAppend(&text, "  const float ", kParameters[i], " = at[", i, "];\n");
    }
    absl::StrAppend(&text, "  return ", uses[u].text, ";\n}\n");
  }
  absl::StrAppend(&text,
                  "void Print(float (*use)(const float*), const unsigned* bits, int count, int inputs) {\n"
                  "  for (int i = 0; i < count; ++i) {\n    float at[4];\n"
                  "    for (int j = 0; j < inputs; ++j) std::memcpy(&at[j], &bits[i * inputs + j], 4);\n"
                  "    const float value = use(at);\n    unsigned result;\n    std::memcpy(&result, &value, 4);\n"
                  "    std::printf(\"%u\\n\", result);\n  }\n}\n");
  for (const size_t inputs : {1, 2, 3, 4}) {
    std::vector<std::string> bits;
    for (const std::vector<float>& arguments : Arguments(inputs)) {
      for (const float argument : arguments) bits.push_back(absl::StrCat(BitsOf(argument), "u"));
    }
    absl::StrAppend(&text, "const unsigned kArguments", inputs, "[] = {", absl::StrJoin(bits, ","), "};\n");
  }
  absl::StrAppend(&text, "}\nint main() {\n");
  for (size_t u = 0; u < uses.size(); ++u) {
    const size_t inputs = uses[u].inputs();
    absl::StrAppend(&text, "  Print(Use", u, ", kArguments", inputs, ", ", Arguments(inputs).size(), ", ", inputs,
                    ");\n");
  }
  return absl::StrCat(text, "}\n");
}

std::vector<float> RunProgram(const std::string& program) {
  const std::string folder = FreshFolder("elements");
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (file.path == "runtime/kernels/elementwise.h" || file.path == "runtime/device/portable.h") {
      WriteText(absl::StrCat(folder, "/", file.path), std::string(file.text));
    }
  }
  WriteText(absl::StrCat(folder, "/elements.cc"), program);
  const CommandOutput output = RunShell(
      folder, "g++ -std=c++17 -O2 -march=native -Wall -Wextra -Werror -I. elements.cc -o elements && ./elements");
  EXPECT_EQ(output.exit_code, 0) << output.text;
  std::vector<float> values;
  for (const absl::string_view line : absl::StrSplit(output.text, '\n', absl::SkipEmpty())) {
    uint32_t bits = 0;
    EXPECT_TRUE(absl::SimpleAtoi(line, &bits)) << line;
    values.push_back(0);
    std::memcpy(&values.back(), &bits, sizeof bits);
  }
  return values;
}

// The reference of a use, and how much its value changes when the arguments change in their last place.
class Reference {
 public:
  explicit Reference(const Use& use) : numbers_(NumbersOf(use)) {
    const ir::ScalarFunction& function = use.sample.op->element->function;
    value_.emplace_back(function.value, function.parameters);
    for (const std::optional<ir::Scalar>& slope : ir::GradientsOf(function.value, function.parameters, 1)) {
      slopes_.emplace_back(slope.value_or(0), function.parameters);
    }
  }

  double Value(const std::vector<float>& arguments) { return value_[0](All(arguments)); }

  double Sensitivity(const std::vector<float>& arguments) {
    const std::vector<double> all = All(arguments);
    double sum = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const double change = std::abs(all[i] * slopes_[i](all));
      if (std::isfinite(change)) sum += change;
    }
    return sum;
  }

 private:
  static std::vector<double> NumbersOf(const Use& use) {
    return use.sample.op->element->NumbersOf(use.sample.attributes, use.sample.output.elements());
  }

  std::vector<double> All(const std::vector<float>& arguments) const {
    std::vector<double> all(arguments.begin(), arguments.end());
    for (const double number : numbers_) all.push_back(static_cast<double>(static_cast<float>(number)));
    return all;
  }

  std::vector<double> numbers_;
  std::vector<ir::Calculation> value_;
  std::vector<ir::Calculation> slopes_;
};

std::string Place(const Use& use, const std::vector<float>& arguments) {
  return absl::StrCat(use.text, " at ", absl::StrJoin(arguments, ", "));
}

// A sum of rounded numbers may overflow a little before or after the exact one.
bool IsHuge(double number) { return std::abs(number) > 0.99 * std::numeric_limits<float>::max(); }

TEST(Elements, AreWhatTheReferenceSays) {
  ElementFunctions functions;
  const std::vector<Use> uses = Uses(functions);
  ASSERT_GT(uses.size(), 40u);
  const std::vector<float> actual = RunProgram(ProgramText(uses, functions));
  size_t next = 0;
  for (const Use& use : uses) {
    Reference reference(use);
    for (const std::vector<float>& arguments : Arguments(use.inputs())) {
      ASSERT_LT(next, actual.size());
      const double value = static_cast<double>(actual[next++]);
      const double expected = reference.Value(arguments);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(value)) << Place(use, arguments) << " is " << value;
      } else if (IsHuge(expected)) {
        EXPECT_TRUE(IsHuge(value) && std::signbit(value) == std::signbit(expected))
            << Place(use, arguments) << " is " << value << " instead of " << expected;
      } else {
        constexpr double kUnit = 6e-8;  // Half of the last place of 1.
        // Smaller values may become 0, such as 1 divided by a value that has become infinite.
        constexpr double kSmallest = 1e-33;
        const double bound = 8 * kUnit * (std::abs(expected) + reference.Sensitivity(arguments)) + kSmallest;
        EXPECT_NEAR(value, expected, bound) << Place(use, arguments);
      }
    }
  }
  EXPECT_EQ(next, actual.size());
}

// Ops of one input, except the power with exponent 0, which is 1 everywhere.
TEST(Elements, WhatIsNotANumberStaysSo) {
  for (const ir::OpDefinition* op : ir::AllOps()) {
    if (!op->element.has_value() || op->element->inputs != 1) continue;
    ir::Random random(5);
    for (const ir::Sample& sample : ir::SamplesOf(op->kind, random)) {
      const std::vector<double> numbers = op->element->NumbersOf(sample.attributes, 1);
      if (!IsReal(sample) || (op->kind == ir::OpKind::kPower && numbers[0] == 0)) continue;
      std::vector<double> arguments = {std::numeric_limits<double>::quiet_NaN()};
      arguments.insert(arguments.end(), numbers.begin(), numbers.end());
      const ir::ScalarFunction& function = op->element->function;
      EXPECT_TRUE(std::isnan(ir::Calculation(function.value, function.parameters)(arguments))) << op->kind;
    }
  }
}

}  // namespace
}  // namespace cleave::codegen
