#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/emit/identifiers.h"
#include "codegen/emit/text.h"
#include "gtest/gtest.h"

namespace cleave::codegen {
namespace {

TEST(Identifiers, AreMadeOfNames) {
  const std::pair<std::string, std::string> cases[] = {
      {"h1.weight", "h1_weight"},
      {"x.0.attn.qkv.weight", "x_0_attn_qkv_weight"},
      {"Loss", "loss"},
      {"3d", "v3d"},
      {"a..b__c.", "a_b_c"},
      {"\xC3\xA4\xC3\xB6", "value"},
      {"", "value"},
      {"class", "class_"},
      {"comm", "comm_"},
      {"k256By4", "k256By4_"},
      {"kernel", "kernel"},
      {std::string(60, 'a'), std::string(40, 'a')},
  };
  for (const auto& [name, expected] : cases) {
    Identifiers identifiers;
    EXPECT_EQ(identifiers.Unique(name), expected) << name;
  }
}

// A function that is written once more has the local names that it had.
TEST(Identifiers, LocalOnesAreGivenAgain) {
  Identifiers identifiers;
  EXPECT_EQ(identifiers.Local("h.term"), "h_term");
  const size_t before = identifiers.local_count();
  EXPECT_EQ(identifiers.Local("h.term"), "h_term_2");
  const std::vector<std::string> locals = identifiers.Locals(before);
  {
    const Identifiers::Replay replay(identifiers, locals);
    EXPECT_EQ(identifiers.Local("h.term"), "h_term_2");
    EXPECT_EQ(identifiers.Local("h.term"), "h_term_3") << "one more than before";
  }
  EXPECT_EQ(identifiers.Local("h.term"), "h_term_4");
}

TEST(Identifiers, AreHandedOutOnce) {
  Identifiers identifiers;
  EXPECT_EQ(identifiers.Unique("h1.weight"), "h1_weight");
  EXPECT_EQ(identifiers.Unique("h1_weight"), "h1_weight_2");
  EXPECT_EQ(identifiers.Unique("h1-weight"), "h1_weight_3");
  identifiers.Reserve("free");
  EXPECT_EQ(identifiers.Unique("free"), "free_2");
  const std::string longest(60, 'b');
  EXPECT_EQ(identifiers.Unique(longest), std::string(40, 'b'));
  EXPECT_EQ(identifiers.Unique(longest), absl::StrCat(std::string(38, 'b'), "_2"));
}

TEST(Identifiers, AreAlwaysValidAndDifferent) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    Identifiers identifiers;
    std::set<std::string> seen;
    for (int i = 0; i < 50; ++i) {
      std::string name;
      for (uint32_t length = random() % 50; length > 0; --length) {
        name.push_back("ab._-1 \xC3"[random() % 9]);
      }
      const std::string identifier = identifiers.Unique(name);
      EXPECT_TRUE(seen.insert(identifier).second) << identifier;
      EXPECT_LE(identifier.size(), Identifiers::kLongest);
      EXPECT_TRUE(identifier[0] >= 'a' && identifier[0] <= 'z') << identifier;
      EXPECT_EQ(identifier.find("__"), std::string::npos) << identifier;
      EXPECT_FALSE(IsReserved(identifier)) << identifier;
    }
  }
}

TEST(TypeName, IsCamelCase) {
  EXPECT_EQ(TypeName("MnistMlp"), "MnistMlp");
  EXPECT_EQ(TypeName("tiny_gpt"), "TinyGpt");
  EXPECT_EQ(TypeName("3d"), "Model3d");
}

TEST(StringLiteral, EscapesEverythingThatIsNotPrintable) {
  EXPECT_EQ(StringLiteral("h1.weight"), "\"h1.weight\"");
  EXPECT_EQ(StringLiteral("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(StringLiteral("a\nb"), "\"a\\012b\"");
  EXPECT_EQ(StringLiteral("\xC3\xA4"), "\"\\303\\244\"");
  EXPECT_EQ(StringLiteral("?"
                          "?/"),
            "\"?\\?/\"");
}

TEST(CommentText, StaysOnOneLine) {
  EXPECT_EQ(CommentText("two\nlines"), "two lines");
  EXPECT_EQ(CommentText("ends with \\"), "ends with \\.");
  EXPECT_EQ(CommentText("caf\xC3\xA9"), "caf?");
}

TEST(FloatLiteral, ReadsBackAsTheSameFloat) {
  EXPECT_EQ(FloatLiteral(0.05), "0.05f");
  EXPECT_EQ(FloatLiteral(3), "3.0f");
  EXPECT_EQ(FloatLiteral(-1e9), "-1e+09f");
  EXPECT_EQ(FloatLiteral(0), "0.0f");
  EXPECT_EQ(FloatLiteral(1e300), "INFINITY");
  EXPECT_EQ(FloatLiteral(1e-300), "0.0f");
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 120) - 90);
    const std::string literal = FloatLiteral(value);
    EXPECT_EQ(std::strtof(literal.c_str(), nullptr), static_cast<float>(value)) << literal;
  }
}

TEST(SourceWriter, WrapsArgumentsBehindTheParenthesis) {
  SourceWriter writer(4);
  const std::string a(40, 'a');
  const std::string b(40, 'b');
  const std::string c(40, 'c');
  writer.Call("MatMul(", {a, b, c}, ");");
  EXPECT_EQ(writer.text(), absl::StrCat("    MatMul(", a, ", ", b, ",\n           ", c, ");\n"));
}

// Random calls and assignments are compared with the output of clang-format itself.
TEST(SourceWriter, LaysCallsOutAsClangFormatDoes) {
  std::mt19937 random(5);
  const auto below = [&](size_t limit) { return random() % limit; };
  const char* const heads[] = {"MatMul(", "comm.AllGather(", "inputs.emplace_back(", "loss[0] = CrossEntropy("};
  const char* const sizes[] = {"1", "512", "k256By4", "piece_256_m0.begin"};
  SourceWriter writer;
  writer.Open("void F() {");
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> arguments;
    for (size_t count = 2 + below(7); count > 0; --count) {
      if (below(4) > 0) {
        arguments.push_back(std::string(1 + below(40), 'a'));
      } else {
        std::vector<std::string> list;
        for (size_t length = 1 + below(4); length > 0; --length) list.push_back(sizes[below(4)]);
        arguments.push_back(absl::StrCat("{", absl::StrJoin(list, ", "), "}"));
      }
    }
    writer.Call(heads[below(4)], arguments, ");");
  }
  writer.Close("}");
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(folder != nullptr ? folder : "/tmp", "/calls.cc");
  std::ofstream(path) << writer.text();
  const std::string command =
      absl::StrCat("clang-format --style='{BasedOnStyle: Google, ColumnLimit: 120, DerivePointerAlignment: false}' '",
                   path, "' | diff '", path, "' - >&2");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(SourceWriter, AlignsTheCommentsOfNeighbouringLines) {
  SourceWriter writer;
  writer.Table({{"int a;", "one"}, {"int long_name;", "two"}, {"int b;", ""}, {"int c;", "three"}});
  EXPECT_EQ(writer.text(), "int a;          // one\nint long_name;  // two\nint b;\nint c;  // three\n");
}

}  // namespace
}  // namespace cleave::codegen
