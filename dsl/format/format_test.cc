#include "dsl/format/format.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "dsl/parse/parse.h"
#include "dsl/syntax/print.h"

namespace cleave::dsl {
namespace {

std::string FormatText(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  const std::optional<syntax::File> file = Parse(sources.Add("test.model", text), sources, diagnostics);
  EXPECT_TRUE(file.has_value()) << RenderText(diagnostics, sources);
  return file ? Format(*file) : "";
}

// Expects that `expected` is canonical, and that `text` becomes `expected`.
void Check(const std::string& text, const std::string& expected) {
  EXPECT_EQ(FormatText(text), expected);
  EXPECT_EQ(FormatText(expected), expected);
}

// One statement in the body of a function.
void CheckStatement(const std::string& text, const std::string& expected) {
  Check("fn f() {" + text + "}", "fn f() {\n    " + expected + "\n}\n");
}

TEST(FormatTest, EmptyFile) {
  Check("", "");
  Check(" \n\n", "");
  Check("\n\n// only this", "// only this\n");
}

TEST(FormatTest, Items) {
  Check("model M{}", "model M {}\n");
  Check("model M(a:int=3,b:f32[ 2,n ]){}", "model M(a: int = 3, b: f32[2, n]) {}\n");
  Check("fn f(x:f32[..n,k],)->f32[..n]{return x;}", "fn f(x: f32[..n, k]) -> f32[..n] {\n    return x;\n}\n");
  Check("fn f(x:f32[n])->(f32[n],int,){return(x,n);}", "fn f(x: f32[n]) -> (f32[n], int) {\n    return (x, n);\n}\n");
  Check("op o(x:f32[n])->f32[n]{rule=\"n -> n\";linear=();}",
        "op o(x: f32[n]) -> f32[n] {\n    rule = \"n -> n\";\n    linear = ();\n}\n");
  Check("import   \"a.model\" ;fn f(){}", "import \"a.model\";\n\nfn f() {}\n");
  Check("train M{epochs=3;}", "train M {\n    epochs = 3;\n}\n");
  Check("#[manual]model M{}", "#[manual]\nmodel M {}\n");
}

TEST(FormatTest, CommentsAroundElse) {
  CheckStatement(
      "if a { // why\n x = y; // end\n // last\n } // before\n else /* within */ { x = z; } // behind\n",
      "if a {      // why\n        x = y;  // end\n        // last\n        // before\n        /* within */\n"
      "    } else {\n        x = z;\n    }  // behind");
}

TEST(FormatTest, SettingsAndPinsKeepTheirOrder) {
  Check("parallel{pin \"a\"=shard((4),(1,2));mesh=(dp=4);pin \"b\"=replicate;}",
        "parallel {\n    pin \"a\" = shard((4,), (1, 2));\n    mesh = (dp = 4);\n    pin \"b\" = replicate;\n}\n");
}

TEST(FormatTest, Expectations) {
  Check("expect{step<=20ms;layout( h1.weight )=(tp,_);// why\n layout(b)=(tp);}",
        "expect {\n    step <= 20ms;\n    layout(h1.weight) = (tp, _);  // why\n    layout(b) = (tp,);\n}\n");
  Check("expect {}", "expect {}\n");
}

TEST(FormatTest, Statements) {
  CheckStatement("input x:i32[batch,28];", "input x: i32[batch, 28];");
  CheckStatement("#[local]param w:f32[n]=zeros();", "#[local]\n    param w: f32[n] = zeros();");
  CheckStatement("let   mut x:f32[n]=y;", "let mut x: f32[n] = y;");
  CheckStatement("let mut(a,_ ,b,)=y;", "let mut (a, _, b) = y;");
  CheckStatement("x=y;", "x = y;");
  CheckStatement("(h,c)=(c,h);", "(h, c) = (c, h);");
  CheckStatement("for i in 0..depth{}", "for i in 0..depth {}");
  CheckStatement("for w in(96,192){}", "for w in (96, 192) {}");
  CheckStatement("if a{x=y;}", "if a {\n        x = y;\n    }");
  CheckStatement("if a{}", "if a {}");
  CheckStatement("if a&&!b{x=y;}else if c{}else{x=z;}",
                 "if a && !b {\n        x = y;\n    } else if c {\n    } else {\n        x = z;\n    }");
  CheckStatement("for i in a+1..b{x=y;}", "for i in a + 1 .. b {\n        x = y;\n    }");
  CheckStatement("loss(a+b)*c;", "loss (a + b) * c;");
  CheckStatement("metric m(a);", "metric m(a);");
  CheckStatement("print( x );", "print(x);");
  CheckStatement("print(local x);", "print(local x);");
  CheckStatement("print((local(x)));", "print((local(x)));");
  CheckStatement("print(local);", "print(local);");
  CheckStatement("print( local  w.grad );", "print(local w.grad);");
  CheckStatement("print((local(x)).grad);", "print((local(x)).grad);");
  CheckStatement("print((a+b).grad);", "print((a + b).grad);");
  CheckStatement("state  mean :f32[k]=zeros( );", "state mean: f32[k] = zeros();");
  CheckStatement("update mean=(1-m)*mean;", "update mean = (1 - m) * mean;");
  CheckStatement("assert_finite( x );", "assert_finite(x);");
  CheckStatement("send(x,1);", "send(x, 1);");
}

TEST(FormatTest, Expressions) {
  const auto check = [](const std::string& text, const std::string& expected) {
    CheckStatement("let v=" + text + ";", "let v = " + expected + ";");
  };
  check("((a+b))*c", "(a + b) * c");
  check("(a*b)+c", "a * b + c");
  check("a-(b-c)", "a - (b - c)");
  check("(a-b)-c", "a - b - c");
  check("a/(b*c)%d", "a / (b * c) % d");
  check("-(-x)", "--x");
  check("-(a+b)", "-(a + b)");
  check("(-a)[0]", "(-a)[0]");
  check("(a<b)==c", "(a < b) == c");
  check("(a&&b)||(c||d)&&!(e<f)", "a && b || (c || d) && !(e < f)");
  check("a+b<c*d", "a + b < c * d");
  check("x[..,0]", "x[.., 0]");
  check("x[a..b,c..,..d]", "x[a..b, c.., ..d]");
  check("x[rank*n..(rank+1)*n]", "x[rank * n .. (rank + 1) * n]");
  check("x[a+1..]", "x[a + 1 ..]");
  check("x[0 .. 8 .. 2,.. .. 3]", "x[0..8..2, ....3]");
  check("x[a+1..b..2]", "x[a + 1 .. b .. 2]");
  check("a**-b", "a ** -b");
  check("(-a)**(b**c)", "(-a) ** b ** c");
  check("(a**b)**c", "(a ** b) ** c");
  check("c.a.b+c .d", "c.a.b + c.d");
  check("(a+b).c[0](x)", "(a + b).c[0](x)");
  check("x[0..c.n..c.m]", "x[0..c.n..c.m]");
  check("(c with(a=1,)).a", "c with (a = 1).a");
  check("-c  with (a = 1,b=f(x))", "-c with (a = 1, b = f(x))");
  check("(a,)", "(a,)");
  check("(a,b,)", "(a, b)");
  check("(n=a)", "(n = a)");
  check("f({})", "f({})");
  check("f(m={\"a\":1,})", "f(m = { \"a\": 1 })");
  check("vmap(f,axes=(0,_))(x,w)", "vmap(f, axes = (0, _))(x, w)");
  check("#[region(in=((4,2)),out=auto)]f(x)", "#[region(in = ((4, 2),), out = auto)] f(x)");
  check("(#[a]f)(x)", "(#[a] f)(x)");
  check("\"a\\\"\\\\\\n\\t…\"", "\"a\\\"\\\\\\n\\t…\"");
  check("1_000+2.5e-3", "1_000 + 2.5e-3");
}

TEST(FormatTest, Records) {
  Check("record R{}record record { a:int; // first\n\n\n // of b\n b : tuple=( 1,2 );}",
        "record R {}\n\nrecord record {\n    a: int;  // first\n\n    // of b\n    b: tuple = (1, 2);\n}\n");
}

TEST(FormatTest, LongListsAreBroken) {
  const std::string long_name(28, 'n');
  CheckStatement("let x = f(" + long_name + ", " + long_name + ", name = " + long_name + " + 4);",
                 "let x = f(" + long_name + ", " + long_name + ", name = " + long_name + " + 4);");
  CheckStatement("let x = f(" + long_name + ", " + long_name + ", name = " + long_name + " + 4, bbbbbb);",
                 "let x = f(\n        " + long_name + ",\n        " + long_name + ",\n        name = " + long_name +
                     " + 4,\n        bbbbbb,\n    );");
  Check("model M(first: int = 8, " + long_name + ": int = 256, " + long_name + ": int = 65, last: int = 384, a: int){}",
        "model M(\n    first: int = 8,\n    " + long_name + ": int = 256,\n    " + long_name +
            ": int = 65,\n    last: int = 384,\n    a: int,\n) {}\n");
}

TEST(FormatTest, LongListsOfNamesAndResultsAreBroken) {
  const std::string name(50, 'n');
  CheckStatement("let (" + name + ", a) = " + name + ";", "let (" + name + ", a) = " + name + ";");
  CheckStatement("let (" + name + ", " + name + ", abcdef) = f(x);",
                 "let (\n        " + name + ",\n        " + name + ",\n        abcdef,\n    ) = f(x);");
  const std::string type = "f32[" + std::string(46, 'n') + "]";
  Check("fn f(x: int) -> (" + type + ", " + type + ") {}",
        "fn f(\n    x: int,\n) -> (" + type + ", " + type + ") {}\n");
  Check("fn f(x: int) -> (" + type + ", " + type + ", int, float) {}",
        "fn f(\n    x: int,\n) -> (\n    " + type + ",\n    " + type + ",\n    int,\n    float,\n) {}\n");
}

TEST(FormatTest, LongSumsAreBrokenBeforeTheOperator) {
  const std::string a(50, 'a');
  const std::string b(50, 'b');
  CheckStatement("let x = " + a + " + " + b + " - c(" + a + ");",
                 "let x = " + a + " + " + b + "\n        - c(" + a + ");");
}

TEST(FormatTest, LinesOfExactlyTheWidthAreKept) {
  const std::string line = "    let x = f(" + std::string(50, 'a') + ", " + std::string(52, 'b') + ");";
  ASSERT_EQ(line.size(), 120u);
  Check("fn g() {\n" + line + "\n}\n", "fn g() {\n" + line + "\n}\n");
}

TEST(FormatTest, CommentsStayWhereTheyAre) {
  Check(
      "// head\n\n\n// of the model\nmodel M { // behind the brace\n  // first\n  let a=1; // one\n  let bbb=2;// "
      "two\n\n"
      "  let c = 3;\n  // last\n} // behind\n// tail",
      "// head\n\n// of the model\nmodel M {  // behind the brace\n    // first\n    let a = 1;    // one\n"
      "    let bbb = 2;  // two\n\n    let c = 3;\n    // last\n}  // behind\n// tail\n");
}

TEST(FormatTest, CommentsWithinAStatementGoBeforeIt) {
  CheckStatement("let a = /* why */ f(x, // first\n y);", "/* why */\n    // first\n    let a = f(x, y);");
}

TEST(FormatTest, CommentsBehindAttributesStay) {
  CheckStatement("#[replicate] // all of it\n // and\n let a=b;",
                 "#[replicate]  // all of it\n    // and\n    let a = b;");
}

TEST(FormatTest, ItemsStandApartByOneBlankLine) {
  Check("fn f(){}fn g(){}\n\n\n\nfn h(){}", "fn f() {}\n\nfn g() {}\n\nfn h() {}\n");
  Check("fn f(){}\n// about g\n\nfn g(){}", "fn f() {}\n\n// about g\n\nfn g() {}\n");
}

TEST(FormatTest, BlankLinesInBodiesAreKeptOnce) {
  Check("fn f(){\n\n\nlet a=1;\n\n\n\nlet b=2;\nlet c=3;\n\n}",
        "fn f() {\n    let a = 1;\n\n    let b = 2;\n    let c = 3;\n}\n");
}

}  // namespace
}  // namespace cleave::dsl
