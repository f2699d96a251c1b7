// Tests the tree of each construct.
#include "dsl/parse/parse.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/match/match.h"
#include "dsl/parse/words.h"
#include "dsl/syntax/print.h"

namespace cleave::dsl {
namespace {

std::optional<syntax::File> ParseText(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  std::optional<syntax::File> file = Parse(sources.Add("test.model", text), sources, diagnostics);
  EXPECT_EQ(file.has_value(), !diagnostics.has_errors());
  EXPECT_TRUE(file.has_value()) << RenderText(diagnostics, sources);
  return file;
}

void CheckFile(const std::string& text, const std::string& expected_tree) {
  const std::optional<syntax::File> file = ParseText(text);
  EXPECT_EQ(file ? syntax::PrintTree(*file) : "", expected_tree) << text;
}

// One statement in the body of a function.
void CheckStatement(const std::string& text, const std::string& expected_tree) {
  CheckFile(absl::StrCat("fn f() { ", text, " }"), absl::StrCat("fn f\n  ", expected_tree, "\n"));
}

void CheckExpression(const std::string& text, const std::string& expected_tree) {
  CheckStatement(absl::StrCat("return ", text, ";"), absl::StrCat("return ", expected_tree));
}

TEST(ParseTest, Expectations) {
  CheckFile("expect { sent <= 64MiB; layout(h.w) = (tp); }",
            "expect\n  (<= sent 64MiB)\n  (call layout (field h w)) = (tuple tp)\n");
  CheckStatement("let expect = expect + 1;", "let expect = (+ expect 1)");
}

TEST(ParseTest, FilesWithoutItems) {
  CheckFile("", "");
  CheckFile(" \n\t\n", "");
  CheckFile("// nothing\n/* at all */", "");
}

TEST(ParseTest, ByteOrderMarkAndCarriageReturns) {
  CheckFile("\xef\xbb\xbfmodel M {\r\n    let x = 1;\r\n}\r\n", "model M\n  let x = 1\n");
}

TEST(ParseTest, Items) {
  CheckFile("model M { }", "model M\n");
  CheckFile("model M() { }", "model M\n");
  CheckFile("model M(a: int = 3, b: float,) { }", "model M\n  parameter a: int = 3\n  parameter b: float\n");
  CheckFile("#[manual] model M { }", "#manual model M\n");
  CheckFile("fn f(x: f32[..n, k]) -> f32[..n] { }", "fn f -> (type f32 ..n)\n  parameter x: (type f32 ..n k)\n");
  CheckFile("fn f() { }", "fn f\n");
  CheckFile("fn f(x: f32[n]) -> (f32[n], int,) { }", "fn f -> (tuple (type f32 n) int)\n  parameter x: (type f32 n)\n");
  CheckFile("op o(x: f32[n, k], c: float) -> f32[n, k] { rule = \"n k -> n k\"; linear = (x); }",
            "op o -> (type f32 n k)\n  parameter x: (type f32 n k)\n  parameter c: float\n"
            "  set rule = \"n k -> n k\"\n  set linear = (tuple x)\n");
  CheckFile("import \"a/b.model\"; fn import() { }", "import \"a/b.model\"\nfn import\n");
  CheckFile("train M { epochs = 3; lr = (0.1); }", "train M\n  set epochs = 3\n  set lr = 0.1\n");
}

TEST(ParseTest, ParallelBlocksAndPins) {
  CheckFile("parallel { mesh = (dp = 4, tp = 2); memory = 40GiB; dataset = ((8)); }",
            "parallel\n  set mesh = (tuple dp: 4 tp: 2)\n  set memory = 40GiB\n  set dataset = (tuple (tuple 8))\n");
  CheckFile(
      "parallel { pin \"h1.weight\" = layout(\"tp\", _); pin \"a\" = shard((4), (1, 2)); pin \"b\" = replicate; }",
      "parallel\n  pin \"h1.weight\" = #(layout \"tp\" _)\n  pin \"a\" = #(shard (tuple 4) (tuple 1 2))\n"
      "  pin \"b\" = #replicate\n");
}

TEST(ParseTest, Statements) {
  CheckStatement("input image: f32[batch, 1, 28, 28];", "input image: (type f32 batch 1 28 28)");
  CheckStatement("param w: f32[n] = zeros();", "param w: (type f32 n) = (call zeros)");
  CheckStatement("#[local] param w: f32[] = zeros();", "#local param w: (type f32) = (call zeros)");
  CheckStatement("let x = y;", "let x = y");
  CheckStatement("let mut x = y;", "let mut x = y");
  CheckStatement("let x: f32[n, 2 * k] = y;", "let x: (type f32 n (* 2 k)) = y");
  CheckStatement("let (a, b) = f(x);", "let (tuple a b) = (call f x)");
  CheckStatement("let mut (a, _, loss,) = (1, 2, 3);", "let mut (tuple a _ loss) = (tuple 1 2 3)");
  CheckStatement("x = f(x);", "assign x = (call f x)");
  CheckStatement("(h, _, c) = cell(h, c);", "assign (tuple h _ c) = (call cell h c)");
  CheckStatement("#[replicate] (h, c) = f(h);", "#replicate assign (tuple h c) = (call f h)");
  CheckStatement("for i in 0..depth { x = i; }", "for i in 0 .. depth\n    assign x = i");
  CheckStatement("for i in n - 1..n { }", "for i in (- n 1) .. n");
  CheckStatement("for w in (96, 192) { }", "for w in (tuple 96 192)");
  CheckStatement("if a { x = 1; }", "if a\n    assign x = 1");
  CheckStatement("if a == b { } else { return x; }", "if (== a b)\n  else\n    return x");
  CheckStatement("if a { } else if !b { x = 1; } else if c { } else { }",
                 "if a\n  else if (! b)\n    assign x = 1\n  else if c\n  else");
  CheckStatement("loss mse(x, y);", "loss (call mse x y)");
  CheckStatement("loss -x;", "loss (- x)");
  CheckStatement("loss (x);", "loss x");
  CheckStatement("metric accuracy(x, y);", "metric (call accuracy x y)");
  CheckStatement("return x;", "return x");
  CheckStatement("print(x);", "print x");
  CheckStatement("print(local x);", "print local x");
  CheckStatement("print(local);", "print local");
  CheckStatement("print(local[0]);", "print (index local 0)");
  CheckStatement("print(w.grad);", "print w part grad");
  CheckStatement("print(local w.adam_m);", "print local w part adam_m");
  CheckStatement("state mean: f32[k] = zeros();", "state mean: (type f32 k) = (call zeros)");
  CheckStatement("update mean = f(mean);", "update mean = (call f mean)");
  CheckStatement("update = update(state);", "assign update = (call update state)");
  CheckStatement("assert_finite(x);", "assert_finite x");
  CheckStatement("assert_finite(x[0..2].grad);", "assert_finite (index x (range 0 2)) part grad");
  CheckStatement("send(x, 1);", "evaluate (call send x 1)");
  CheckStatement("vmap(f)(x);", "evaluate (call (call vmap f) x)");
  CheckStatement("#[shard((4, 2), (1))] #[priority(0)] let x = y;",
                 "#(shard (tuple 4 2) (tuple 1)) #(priority 0) let x = y");
}

TEST(ParseTest, Operators) {
  CheckExpression("a + b - c", "(- (+ a b) c)");
  CheckExpression("a + b * c", "(+ a (* b c))");
  CheckExpression("(a + b) * c", "(* (+ a b) c)");
  CheckExpression("a / b % c", "(% (/ a b) c)");
  CheckExpression("a - (b - c)", "(- a (- b c))");
  CheckExpression("-a * b", "(* (- a) b)");
  CheckExpression("-a ** b ** -c * d", "(* (- (** a (** b (- c)))) d)");
  CheckExpression("x[a..b..2, ..b..c, ....c]", "(index x (range a b 2) (range .. b c) (range .. .. c))");
  CheckExpression("--a", "(- (- a))");
  CheckExpression("-f(x)[0]", "(- (index (call f x) 0))");
  CheckExpression("a + 1 == b", "(== (+ a 1) b)");
  CheckExpression("(a < b) != (c >= d)", "(!= (< a b) (>= c d))");
  CheckExpression("a <= b", "(<= a b)");
  CheckExpression("a > b", "(> a b)");
}

TEST(ParseTest, CallsIndicesAndTuples) {
  CheckExpression("dense(x, 512)", "(call dense x 512)");
  CheckExpression("f(x, transpose_b = true,)", "(call f x transpose_b: true)");
  CheckExpression("f(a == b)", "(call f (== a b))");
  CheckExpression("a || b && c == d || !e", "(|| (|| a (&& b (== c d))) (! e))");
  CheckExpression("!(a && b)", "(! (&& a b))");
  CheckExpression("!-a < b", "(< (! (- a)) b)");
  CheckExpression("layer dense(8, bias = false)", "(layer (call dense 8 bias: false))");
  CheckExpression("layer layer()(x)", "(call (layer (call layer)) x)");
  CheckExpression("layer(x) + layer", "(+ (call layer x) layer)");
  CheckExpression("vmap(f, axes = (0, _))(x, w)", "(call (call vmap f axes: (tuple 0 _)) x w)");
  CheckExpression("x[0]", "(index x 0)");
  CheckExpression("x[.., 0]", "(index x (range .. ..) 0)");
  CheckExpression("x[a .. b, c.., ..d]", "(index x (range a b) (range c ..) (range .. d))");
  CheckExpression("x[rank * n .. (rank + 1) * n]", "(index x (range (* rank n) (* (+ rank 1) n)))");
  CheckExpression("()", "(tuple)");
  CheckExpression("(a)", "a");
  CheckExpression("((a))", "a");
  CheckExpression("(a,)", "(tuple a)");
  CheckExpression("(a, b)", "(tuple a b)");
  CheckExpression("(n = a)", "(tuple n: a)");
  CheckExpression("f({})", "(call f (map))");
  CheckExpression("f(m = { \"a\": (1, 2), \"b\": {}, })", "(call f m: (map \"a\": (tuple 1 2) \"b\": (map)))");
  CheckFile("train M { a = {}; }", "train M\n  set a = (map)\n");
}

TEST(ParseTest, AttributesInExpressions) {
  CheckExpression("#[region(in = ((4, 2),), out = auto)] block(x)",
                  "(with #(region in: (tuple (tuple 4 2)) out: auto) (call block x))");
  CheckExpression("#[a] #[b()] x", "(with #a #(b) x)");
  CheckExpression("-#[a] x", "(- (with #a x))");
  CheckExpression("#[a] -x + y", "(+ (with #a (- x)) y)");
}

TEST(ParseTest, ParenthesesMakeTuplesWithinAttributesOnly) {
  CheckStatement("#[shard((1), f((2)))] let x = g((3));", "#(shard (tuple 1) (call f (tuple 2))) let x = (call g 3)");
  CheckExpression("#[a((1))] f((2))", "(with #(a (tuple 1)) (call f 2))");
}

TEST(ParseTest, Literals) {
  CheckExpression("0", "0");
  CheckExpression("1_000", "1_000");
  CheckExpression("9223372036854775807", "9223372036854775807");
  CheckExpression("0.5", "0.5");
  CheckExpression("1e-3", "1e-3");
  CheckExpression("2.5E+3", "2.5E+3");
  CheckExpression("40GiB", "40GiB");
  CheckExpression("1.5MB", "1.5MB");
  CheckExpression("64B", "64B");
  CheckExpression("true", "true");
  CheckExpression("false", "false");
  CheckExpression("_", "_");
  CheckExpression("\"a\\\"b\\\\c\\n\\t // ü\"", "\"a\\\"b\\\\c\\n\\t // ü\"");
}

TEST(ParseTest, LiteralValues) {
  const auto file = ParseText("fn f() { return (1_000, 2.5e-3, 1.5KiB, 2TB, \"a\\\\b\"); }");
  ASSERT_TRUE(file);
  const auto& function = std::get<syntax::Function>(file->items[0].kind);
  const auto& value = std::get<syntax::Return>(function.body[0].kind).value;
  const auto& elements = std::get<syntax::Tuple>(value.kind).elements;
  EXPECT_EQ(std::get<syntax::IntegerLiteral>(elements[0].value->kind).value, 1000);
  EXPECT_EQ(std::get<syntax::FloatLiteral>(elements[1].value->kind).value, 2.5e-3);
  EXPECT_EQ(std::get<syntax::SizeLiteral>(elements[2].value->kind).bytes, 1536);
  EXPECT_EQ(std::get<syntax::SizeLiteral>(elements[3].value->kind).bytes, 2'000'000'000'000);
  EXPECT_EQ(std::get<syntax::StringLiteral>(elements[4].value->kind).value, "a\\b");
}

TEST(ParseTest, RangesAreNoFloats) {
  CheckStatement("for i in 0..5 { }", "for i in 0 .. 5");
  CheckExpression("x[1..2]", "(index x (range 1 2))");
  CheckExpression("x[1.5..2]", "(index x (range 1.5 2))");
}

TEST(ParseTest, WordsOfTheLanguageAreNamesElsewhere) {
  CheckStatement("let mut loss = input + metric(model, in = data);",
                 "let mut loss = (+ input (call metric model in: data))");
  CheckStatement("loss = param;", "assign loss = param");
  CheckStatement("for in in 0..op { }", "for in in 0 .. op");
  CheckFile("fn train(print: local[pin, ..parallel]) { }",
            "fn train\n  parameter print: (type local pin ..parallel)\n");
  CheckFile("parallel { pin = 3; }", "parallel\n  set pin = 3\n");
  CheckFile("train train { train = assert_finite; }", "train train\n  set train = assert_finite\n");
}

TEST(ParseTest, WordsOfCppAreNames) {
  CheckStatement("let class = template(int, union = operator, while);",
                 "let class = (call template int union: operator while)");
}

TEST(ParseTest, TextThatLooksLikeCodeStaysInItsString) {
  CheckExpression("mnist(\"\\\"); system(\\\"rm\\\"); // \")", "(call mnist \"\\\"); system(\\\"rm\\\"); // \")");
}

TEST(ParseTest, NamesOfTheGreatestLength) {
  const std::string name(syntax::kMaxNameBytes, 'n');
  CheckExpression(name, name);
}

TEST(ParseTest, GreatestDepths) {
  // 254 parentheses within the braces of the function and a call.
  const std::string open(254, '(');
  const std::string close(254, ')');
  CheckExpression(absl::StrCat("f", open, "x", close), "(call f x)");
  std::string sum = "1";
  for (int i = 1; i < syntax::kMaxExpressionDepth; ++i) absl::StrAppend(&sum, "+1");
  EXPECT_TRUE(ParseText(absl::StrCat("fn f() { return ", sum, "; }")));
}

TEST(ParseTest, SpansAreByteRanges) {
  const std::string text = "fn f() { // …\n  let y = (a + b) * dense(x, n = 3); let (p, _) = y; }";
  const auto file = ParseText(text);
  ASSERT_TRUE(file);
  const auto slice = [&](Span span) {
    return text.substr(static_cast<size_t>(span.begin), static_cast<size_t>(span.end - span.begin));
  };
  EXPECT_EQ(slice(file->items[0].span), text);
  const auto& function = std::get<syntax::Function>(file->items[0].kind);
  EXPECT_EQ(slice(function.name.span), "f");
  EXPECT_EQ(slice(function.body_begin), "{");
  EXPECT_EQ(slice(function.body_end), "}");
  EXPECT_EQ(slice(function.body[0].span), "let y = (a + b) * dense(x, n = 3);");
  const auto& let = std::get<syntax::Let>(function.body[0].kind);
  EXPECT_EQ(slice(let.value.span), "(a + b) * dense(x, n = 3)");
  const auto& product = std::get<syntax::Binary>(let.value.kind);
  EXPECT_EQ(slice(product.operator_span), "*");
  EXPECT_EQ(slice(product.left->span), "(a + b)");
  const auto& call = std::get<syntax::Call>(product.right->kind);
  EXPECT_EQ(slice(call.callee->span), "dense");
  EXPECT_EQ(slice(call.arguments[1].span), "n = 3");
  EXPECT_EQ(slice(call.arguments[1].name->span), "n");
  EXPECT_EQ(slice(file->comments[0].span), "// …");
  const auto& pair = std::get<syntax::Let>(function.body[1].kind);
  EXPECT_EQ(slice(pair.names[0].span), "p");
  EXPECT_EQ(slice(pair.names[1].span), "_");
}

TEST(ParseTest, CommentsAndBlankLines) {
  const auto file = ParseText("// one\n\n\nfn f() { /* two\n lines */ } // three \n\n");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->comments.size(), 3u);
  EXPECT_EQ(file->comments[0].text, "// one");
  EXPECT_TRUE(file->comments[0].own_line);
  EXPECT_EQ(file->comments[1].text, "/* two\n lines */");
  EXPECT_FALSE(file->comments[1].own_line);
  EXPECT_EQ(file->comments[2].text, "// three");
  EXPECT_FALSE(file->comments[2].own_line);
  EXPECT_EQ(file->blank_lines.size(), 2u);
  EXPECT_EQ(file->blank_lines[0], 7);
}

TEST(ParseWhatFitsTest, LeavesOutWhatIsNotWhole) {
  SourceSet sources;
  Diagnostics diagnostics;
  const FileId id = sources.Add("a.model",
                                "fn f(x: f32[n]) -> f32[n] { let a = relu(; let b = x return b; }\n"
                                "record R { width: int; heads int; }\n"
                                "train M { epochs = 3; steps = ; seed = 1; }\n"
                                "model M { input x: f32[2, 3]; if true { loss mse(x, x); let y = ");
  const syntax::File file = ParseWhatFits(id, sources, diagnostics);
  EXPECT_TRUE(diagnostics.has_errors());
  const std::string tree = syntax::PrintTree(file);
  for (const char* kept :
       {"fn f", "let b", "return b", "record R", "width", "epochs", "seed", "model M", "input x", "loss"}) {
    EXPECT_TRUE(absl::StrContains(tree, kept)) << kept << "\n" << tree;
  }
  for (const char* left_out : {"let a", "heads", "steps", "let y"}) {
    EXPECT_FALSE(absl::StrContains(tree, left_out)) << left_out << "\n" << tree;
  }
}

TEST(WordsTest, KindsOfATextWithMistakes) {
  const std::string text = "let x = f(1.5, \"a\" // c\n  s.width";
  std::string kinds;
  for (const Word& word : WordsOf(text)) {
    absl::StrAppend(&kinds, static_cast<int>(word.kind), ":", text.substr(word.begin, word.end - word.begin), "|");
  }
  EXPECT_EQ(kinds, "1:let|0:x|5:=|0:f|5:(|2:1.5|5:,|3:\"a\"|4:// c|0:s|5:.width|");
  EXPECT_TRUE(WordsOf("\xff").empty());
  EXPECT_FALSE(IsName("let") || IsName("_") || IsName("1a") || IsName("größe") || IsName(""));
  EXPECT_TRUE(IsName("model") && IsName("_a1"));
}

}  // namespace
}  // namespace cleave::dsl
