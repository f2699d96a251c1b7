#include "codegen/cpp/cpp.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

TEST(Identifiers, MayCarryNoNumbers) {
  EXPECT_EQ(WithoutNumbers("x.27.middle.add.stage_9"), "x.middle.add.stage");
  EXPECT_EQ(WithoutNumbers("gradients.all_reduce_1"), "gradients.all_reduce");
  EXPECT_EQ(WithoutNumbers("conv2d.f16"), "conv2d.f16");
  EXPECT_EQ(WithoutNumbers("12"), "");
  Identifiers identifiers(/*without_numbers=*/true);
  EXPECT_EQ(identifiers.Unique("x.27.add"), "x_add");
  EXPECT_EQ(identifiers.Unique("x.28.add"), "x_add_2");
  EXPECT_EQ(identifiers.Fresh().Unique("x.28.add"), "x_add");
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

// The printer puts parentheses where they are needed, and nowhere else: what it prints is parsed by a compiler into the
// tree that it was.
TEST(Expr, HasParenthesesByPrecedence) {
  using namespace cpp;
  const Expr a = Name("a"), b = Name("b"), c = Name("c");
  const Expr choice = Choice(Infix(a, "==", 0), b, c);
  EXPECT_EQ((a + choice).Text(), "a + (a == 0 ? b : c)");
  EXPECT_EQ((a % choice * (b + c)).Text(), "a % (a == 0 ? b : c) * (b + c)");
  EXPECT_EQ((a * (b * c)).Text(), "a * (b * c)");
  EXPECT_EQ((a * b * c).Text(), "a * b * c");
  EXPECT_EQ((a - (b - c)).Text(), "a - (b - c)");
  EXPECT_EQ((a - b - c).Text(), "a - b - c");
  EXPECT_EQ((-(-a)).Text(), "-(-a)");
  EXPECT_EQ((-Float(-2)).Text(), "-(-2.0f)");
  EXPECT_EQ((a * -3).Text(), "a * -3");
  EXPECT_EQ(Choice(a, choice, choice).Text(), "a ? (a == 0 ? b : c) : a == 0 ? b : c");
  EXPECT_EQ((a + b).Call("ToString").Text(), "(a + b).ToString()");
  EXPECT_EQ(choice.At(a + b).Text(), "(a == 0 ? b : c)[a + b]");
  EXPECT_EQ(Infix(Infix(a, "<", b), "&&", Infix(b + 1, ">=", c)).Text(), "a < b && b + 1 >= c");
  EXPECT_EQ(Infix(Infix(a, "&&", b), "==", c).Text(), "(a && b) == c");
}

TEST(Expr, SumsOfWholeNumbers) {
  using namespace cpp;
  const Expr at = Name("at"), i = Name("i"), j = Name("j");
  EXPECT_EQ(Offset(at, i * 8 + j - 3).Text(), "at + i * 8 + j - 3");
  EXPECT_EQ(Offset(at, i * 8).Text(), "at + i * 8");
  EXPECT_EQ(Shifted(i, 3).Text(), "i + 3");
  EXPECT_EQ(Shifted(i, -3).Text(), "i - 3");
  EXPECT_EQ(Shifted(i, 0).Text(), "i");
}

TEST(Expr, ListsTypesAndLambdas) {
  using namespace cpp;
  EXPECT_EQ(Fields({{"x", 1}, {"", Name("y")}}).Text(), "{.x = 1, y}");
  EXPECT_EQ(Braces(Name("Region"), {Braces({1, 2}), Braces({})}).Text(), "Region{{1, 2}, {}}");
  EXPECT_EQ(Cast(Pointer(Const(Name("float"))), Name("x")).Text(), "static_cast<const float*>(x)");
  EXPECT_EQ(Call("settings.Demand", {Lambda("[]", Infix(Name("a"), "<", 1)), String("why")}).Text(),
            "settings.Demand([] { return a < 1; }, \"why\")");
  EXPECT_EQ(Expr(-4).number(), -4);
  EXPECT_EQ(Name("4").number(), std::nullopt);
}

// A random tree of numbers and operators has the value that a compiler gives its text.
cpp::Expr RandomExpr(std::mt19937& random, int depth, int64_t& value) {
  using namespace cpp;
  if (depth == 0) {
    value = static_cast<int64_t>(random() % 9) - 3;
    return Expr(value);
  }
  int64_t x = 0, y = 0, z = 0;
  const Expr a = RandomExpr(random, depth - 1, x), b = RandomExpr(random, depth - 1, y);
  switch (random() % 7) {
    case 0:
      value = x + y;
      return a + b;
    case 1:
      value = x - y;
      return a - b;
    case 2:
      value = (x * y) % 101;
      return a * b % 101;
    case 3: {
      const Expr c = RandomExpr(random, depth - 1, z);
      value = x < y ? z : x;
      return Choice(Infix(a, "<", b), c, a);
    }
    case 4:
      value = -x;
      return -a;
    case 5:
      value = x == y && x >= z ? 1 : 0;
      return Choice(Infix(Infix(a, "==", b), "&&", Infix(a, ">=", 0)), 1, 0);
    default:
      value = x % 7 / 2;
      return a % 7 / 2;
  }
}

TEST(Expr, CompilersReadTheTreeThatWasPrinted) {
  std::mt19937 random(11);
  cpp::Code file;
  file.Directive("#include <cstdint>");
  for (int i = 0; i < 200; ++i) {
    int64_t value = 0;
    const cpp::Expr expr = RandomExpr(random, 4, value);
    file.Do(cpp::Call("static_assert", {cpp::Infix(expr, "==", value)}));
  }
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(folder != nullptr ? folder : "/tmp", "/trees.cc");
  std::ofstream(path) << file.Text();
  EXPECT_EQ(std::system(absl::StrCat("c++ -std=c++17 -fsyntax-only -w '", path, "' >&2").c_str()), 0);
}

TEST(Code, MentionsNames) {
  using namespace cpp;
  Code code;
  code.Comment("Sends the bucket.");
  Code& body = code.Open(Function{.result = Name("void"), .name = "Send", .parameters = {{Name("int"), "rank"}}});
  body.Do(Call("comm.Overlap", {Lambda("[&]", Call("comm.Send", {Name("bucket_2"), String("buffer")}))}));
  for (const char* name : {"bucket_2", "rank", "Send", "comm"}) EXPECT_TRUE(Mentions(code, name)) << name;
  for (const char* name : {"bucket", "buffer", "ran", "_2"}) EXPECT_FALSE(Mentions(code, name)) << name;
}

// One struct: `fill` writes its content.
template <typename Fill>
cpp::Code StructOf(const Fill& fill) {
  cpp::Code code;
  fill(code.Open(cpp::Struct{"Layer"}));
  return code;
}

std::optional<cpp::Family> United(const std::vector<cpp::Code>& members) {
  std::vector<const cpp::Code*> pointers;
  for (const cpp::Code& member : members) pointers.push_back(&member);
  return cpp::Unite(pointers, "of_stage");
}

TEST(Family, SaysOnceWhatDiffersInNumbersOnly) {
  using namespace cpp;
  const Expr at = Template("arena.At", {Name("float")});
  std::vector<Code> members;
  for (const int64_t stage : {3, 4}) {
    members.push_back(StructOf([&](Code& fields) {
      fields.Comment(absl::StrCat("Layers ", stage, " to 7."));
      fields.Declare({ConstPointer(Name("float")), "weight"},
                     Call(at, {Infix(Name("i"), "*", 64) + Expr(4096 * stage)}), absl::StrCat("f32[", stage, "]"));
      fields.Declare({ConstPointer(Name("float")), "gradient"}, Call(at, {4096 * stage}));
      Code& body = fields.Open(Function{.result = Name("void"), .name = "Forward"});
      body.Do(Call("watch.Start", {String(absl::StrCat("x.", stage, ".add")), 8}));
      body.Open(If{Infix(Name("turn"), ">=", 9 - stage)}).Do(Call("comm.Send", {Name("weight"), stage + 1}));
    }));
  }
  const std::optional<Family> family = United(members);
  ASSERT_TRUE(family.has_value());
  EXPECT_EQ(family->code.Text(), R"(struct Layer {
  // Layers # to 7.
  float* const weight = arena.At<float>(i * 64 + of_stage.weight);  // f32[#]
  float* const gradient = arena.At<float>(of_stage.weight);
  void Forward() {
    watch.Start(of_stage.x_add_name, 8);
    if (turn >= of_stage.value) {
      comm.Send(weight, of_stage.send);
    }
  }
};
)");
  EXPECT_EQ(family->structs, std::set<std::string>{"Layer"});
  ASSERT_EQ(family->columns.size(), 4u);
  EXPECT_EQ(family->columns[0].values, (std::vector<Expr>{12288, 16384}));
  EXPECT_TRUE(family->columns[1].is_text);
  for (size_t i = 0; i < members.size(); ++i) EXPECT_TRUE(DoTheSame(MemberOf(*family, i), members[i]));
}

// What an object cannot be asked for, or what is more than a number.
TEST(Family, DiffersInNothingElse) {
  using namespace cpp;
  const auto field = [](const Expr& type, const Expr& value) {
    return StructOf([&](Code& fields) { fields.Declare({type, "x"}, value); });
  };
  const Expr number = Name("int64_t");
  const auto array = [&](int64_t size) { return Template("std::array", {number, size}); };
  const auto constant = [&](int64_t value) {
    Code code;
    code.Declare({number, "kSize"}, value);
    return code;
  };
  const auto unites = [](Code a, Code b) {
    std::vector<Code> members;
    members.push_back(std::move(a));
    members.push_back(std::move(b));
    return United(members).has_value();
  };
  EXPECT_TRUE(unites(field(number, 1), field(number, 2)));
  EXPECT_FALSE(unites(field(number, 1), field(Name("int"), 1))) << "types";
  EXPECT_FALSE(unites(field(array(1), Braces({})), field(array(2), Braces({})))) << "numbers in types";
  EXPECT_FALSE(unites(field(number, Name("a")), field(number, Name("b")))) << "names";
  EXPECT_FALSE(unites(field(number, Float(1)), field(number, Float(2)))) << "floats";
  EXPECT_FALSE(unites(field(number, 1), field(number, String("1")))) << "kinds";
  EXPECT_FALSE(unites(field(number, Expr(1) + Name("a")), field(number, Expr(2) - Name("a")))) << "operators";
  EXPECT_FALSE(unites(constant(1), constant(2))) << "outside of structs";
  EXPECT_FALSE(unites(field(number, 1), Code())) << "statements";
}

// A tree with random operators, and other numbers.
cpp::Expr WithNumbers(const cpp::Expr& expr, std::mt19937& random) {
  const cpp::Expr::Node& node = expr.node();
  if (expr.number().has_value()) return random() % 2 == 0 ? expr : cpp::Expr(static_cast<int64_t>(random() % 1000));
  cpp::Expr::Node result = node;
  for (cpp::Expr& operand : result.operands) operand = WithNumbers(operand, random);
  return cpp::Expr(std::make_shared<const cpp::Expr::Node>(std::move(result)));
}

TEST(Family, GivesEachMemberBack) {
  std::mt19937 random(23);
  for (int round = 0; round < 200; ++round) {
    std::vector<cpp::Expr> trees;
    for (int i = 0; i < 5; ++i) {
      int64_t value = 0;
      trees.push_back(RandomExpr(random, 3, value));
    }
    std::vector<cpp::Code> members;
    for (size_t m = 0; m < 2 + random() % 4; ++m) {
      members.push_back(StructOf([&](cpp::Code& fields) {
        for (size_t i = 0; i < trees.size(); ++i) {
          if (random() % 3 == 0) fields.Gap();
          fields.Declare({cpp::Name("int64_t"), absl::StrCat("x", i)}, WithNumbers(trees[i], random));
        }
      }));
    }
    const std::optional<cpp::Family> family = United(members);
    ASSERT_TRUE(family.has_value());
    for (size_t m = 0; m < members.size(); ++m) {
      EXPECT_TRUE(DoTheSame(cpp::MemberOf(*family, m), members[m])) << family->code.Text();
    }
  }
}

TEST(Code, WrapsArgumentsBehindTheParenthesis) {
  cpp::Code code(4);
  const std::string a(40, 'a');
  const std::string b(40, 'b');
  const std::string c(40, 'c');
  code.Do(cpp::Call("MatMul", {cpp::Name(a), cpp::Name(b), cpp::Name(c)}));
  EXPECT_EQ(code.Text(), absl::StrCat("    MatMul(", a, ", ", b, ",\n           ", c, ");\n"));
}

// Random calls and assignments are compared with the output of clang-format itself.
TEST(Code, LaysCallsOutAsClangFormatDoes) {
  using namespace cpp;
  std::mt19937 random(5);
  const auto below = [&](size_t limit) { return random() % limit; };
  const char* const heads[] = {"MatMul", "comm.AllGather", "inputs.emplace_back", "CrossEntropy"};
  const char* const sizes[] = {"1", "512", "k256By4", "piece_256_m0.begin"};
  Code file;
  Code& code = file.Open(Function{.result = Name("void"), .name = "F"});
  for (int i = 0; i < 300; ++i) {
    std::vector<Expr> arguments;
    for (size_t count = 2 + below(7); count > 0; --count) {
      if (below(4) > 0) {
        arguments.push_back(Name(std::string(1 + below(40), 'a')));
      } else {
        std::vector<Expr> list;
        for (size_t length = 1 + below(4); length > 0; --length) list.push_back(Name(sizes[below(4)]));
        arguments.push_back(Braces(std::move(list)));
      }
    }
    const size_t head = below(4);
    const Expr call = Call(heads[head], std::move(arguments));
    head == 3 ? code.Assign(Name("loss").At(0), call) : code.Do(call);
  }
  // The tensors of a loop.
  for (int i = 0; i < 100; ++i) {
    std::vector<Expr> list;
    for (size_t length = 4 + below(4); length > 0; --length) list.push_back(Name(std::string(1 + below(30), 'a')));
    code.Do(Call("update_loops.push_back", {Braces(std::move(list))}));
  }
  file.Open(Function{.result = Name("int"), .name = "G", .suffix = "const"}).Return(Call("F", {}));
  file.Open(Function{.result = Name("void"), .name = "H"});
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(folder != nullptr ? folder : "/tmp", "/calls.cc");
  std::ofstream(path) << file.Text();
  const std::string command =
      absl::StrCat("clang-format --style='{BasedOnStyle: Google, ColumnLimit: 120, DerivePointerAlignment: false}' '",
                   path, "' | diff '", path, "' - >&2");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Code, AlignsTheCommentsOfNeighbouringLines) {
  cpp::Code code;
  const cpp::Expr type = cpp::Name("int");
  code.Member({type, "a"}, "one");
  code.Member({type, "long_name"}, "two");
  code.Member({type, "b"});
  code.Member({type, "c"}, "three");
  EXPECT_EQ(code.Text(), "int a;          // one\nint long_name;  // two\nint b;\nint c;  // three\n");
}

TEST(Code, PrintsBlocksAndLambdas) {
  using namespace cpp;
  Code code;
  Code& body = code.Open(Namespace{}).Open(Struct{"Model", "Program"});
  Code& function = body.Open(
      Function{.result = Name("void"), .name = "Run", .parameters = {{Name("bool"), "metrics"}}, .suffix = "override"});
  function.Gap();
  function.OnLine(If{Name("metrics")}).Do(Call("Metrics", {}));
  function.Open(For{"i", 0, Infix(Name("i"), "<", 3), Prefix("++", Name("i"))}).Do(Call("Begin", {Name("i")}));
  Code inner;
  inner.Do(Call("Watch", {}));
  inner.Do(Call("Send", {}));
  function.Assign(Name("pending"), Call("comm.Overlap", {Lambda("[&]", std::move(inner))}));
  EXPECT_EQ(code.Text(), R"(namespace {
struct Model final : Program {
  void Run(bool metrics) override {
    if (metrics) Metrics();
    for (int64_t i = 0; i < 3; ++i) {
      Begin(i);
    }
    pending = comm.Overlap([&] {
      Watch();
      Send();
    });
  }
};
}  // namespace
)");
}

TEST(Code, ComparesWhatIsDone) {
  using namespace cpp;
  const auto code = [](absl::string_view why, const Expr& count) {
    Code code;
    code.Comment(why);
    code.Open(For{"i", 0, Infix(Name("i"), "<", count), Prefix("++", Name("i"))}).Do(Call("Begin", {Name("i")}));
    return code;
  };
  EXPECT_TRUE(DoTheSame(code("one", 3), code("two", 3)));
  EXPECT_FALSE(code("one", 3) == code("two", 3));
  EXPECT_FALSE(DoTheSame(code("one", 3), code("one", 4)));
  EXPECT_EQ(FirstDifference(code("one", 3), code("two", 4)),
            "for (int64_t i = 0; i < 3; ++i) {\n  Begin(i);\n}\nfor (int64_t i = 0; i < 4; ++i) {\n  Begin(i);\n}\n");
}

}  // namespace
}  // namespace cleave::codegen
