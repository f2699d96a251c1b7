// What text that does not follow the grammar is told, word for word: when a text here changes, read it as the user
// would.
#include <gtest/gtest.h>

#include <string>

#include "dsl/parse/parse.h"
#include "dsl/parse/testing.h"

namespace cleave {
namespace {

TEST(SyntaxErrorsTest, ExpressionAfterAssign) {
  CheckErrors(R"(model M {
    let x = ;
}
)",
              R"(
error[E0101]: expected an expression after `=`
  --> test.model:2:13
   |
 2 |     let x = ;
   |             ^ found `;`
)");
}

TEST(SyntaxErrorsTest, AllErrorsAtOnce) {
  CheckErrors(R"(model M {
    let a = ;
    let b = f(x y);
    lett c = 1;
    let = 5;
    loss m(a;
}

TEST(SyntaxErrorsTest, MissingSemicolon) {
  CheckErrors(R"(fn f() {
    let x = 3
    let y = 4;
    return y
}
)",
              R"(
error[E0101]: expected `;` after `3`
  --> test.model:2:14
   |
 2 |     let x = 3
   |              ^ found `let` instead

error[E0101]: expected `;` after `y`
  --> test.model:4:13
   |
 4 |     return y
   |             ^ found `}` instead
)");
}

TEST(SyntaxErrorsTest, MissingSemicolonBeforeAName) {
  CheckErrors(R"(fn f() {
    x = 3
    y = 4;
}
)",
              R"(
error[E0101]: expected `;` after `3`
  --> test.model:2:10
   |
 2 |     x = 3
   |          ^ found `y` instead
)");
}

TEST(SyntaxErrorsTest, MisspelledItem) {
  CheckErrors(R"(modle M {}

fnn f() {}
)",
              R"(
error[E0101]: expected `model`, `fn`, `op`, `train` or `parallel`
  --> test.model:1:1
   |
 1 | modle M {}
   | ^^^^^ found `modle`
   |
help: did you mean `model`?

error[E0101]: expected `model`, `fn`, `op`, `train` or `parallel`
  --> test.model:3:1
   |
 3 | fnn f() {}
   | ^^^ found `fnn`
   |
help: did you mean `fn`?
)");
}

TEST(SyntaxErrorsTest, StatementOutsideOfABody) {
  CheckErrors(R"(let x = 3;
)",
              R"(
error[E0101]: expected `model`, `fn`, `op`, `train` or `parallel`
  --> test.model:1:1
   |
 1 | let x = 3;
   | ^^^ found `let`
   |
help: statements stand in the body of a `model` or `fn`
)");
}

TEST(SyntaxErrorsTest, ReservedWordAsAName) {
  CheckErrors(R"(fn f(for: int) {
    let return = 1;
    let fn = 2;
    let x = mut + 1;
}
)",
              R"(
error[E0101]: expected a name or `)` after `(`
  --> test.model:1:6
   |
 1 | fn f(for: int) {
   |      ^^^ `for` is a reserved word

error[E0101]: expected a name after `let`
  --> test.model:2:9
   |
 2 |     let return = 1;
   |         ^^^^^^ `return` is a reserved word

error[E0101]: expected a name after `let`
  --> test.model:3:9
   |
 3 |     let fn = 2;
   |         ^^ `fn` is a reserved word

error[E0101]: expected an expression after `=`
  --> test.model:4:13
   |
 4 |     let x = mut + 1;
   |             ^^^ `mut` is a reserved word
)");
}

TEST(SyntaxErrorsTest, Types) {
  CheckErrors(R"(fn f(x: , y: [3]) -> f32[..2] {
    input z: f32[n;
    param w: f32[n];
    let v: = 3;
}
)",
              R"(
error[E0101]: expected a type after `:`
  --> test.model:1:9
   |
 1 | fn f(x: , y: [3]) -> f32[..2] {
   |         ^ found `,`

error[E0101]: expected a type after `:`
  --> test.model:1:14
   |
 1 | fn f(x: , y: [3]) -> f32[..2] {
   |              ^ found `[`

error[E0101]: expected a name after `..`
  --> test.model:1:28
   |
 1 | fn f(x: , y: [3]) -> f32[..2] {
   |                            ^ found `2`

error[E0102]: `[` is never closed
  --> test.model:2:17
   |
 2 |     input z: f32[n;
   |                   - `]` is missing before this
   |                 ^ opened here

error[E0101]: expected `=` after `]`
  --> test.model:3:20
   |
 3 |     param w: f32[n];
   |                    ^ found `;`

error[E0101]: expected a type after `:`
  --> test.model:4:12
   |
 4 |     let v: = 3;
   |            ^ found `=`
)");
}

TEST(SyntaxErrorsTest, ForLoops) {
  CheckErrors(R"(fn f() {
    for i 0..3 {}
    for in 0..3 {}
    for i in 3 {}
    for i in 0.. {}
}
)",
              R"(
error[E0101]: expected `in` after `i`
  --> test.model:2:11
   |
 2 |     for i 0..3 {}
   |           ^ found `0`

error[E0101]: expected `in` after `in`
  --> test.model:3:12
   |
 3 |     for in 0..3 {}
   |            ^ found `0`

error[E0101]: expected `..` after `3`
  --> test.model:4:16
   |
 4 |     for i in 3 {}
   |                ^ found `{`

error[E0101]: expected an expression after `..`
  --> test.model:5:18
   |
 5 |     for i in 0.. {}
   |                  ^ found `{`
)");
}

TEST(SyntaxErrorsTest, Pins) {
  CheckErrors(R"(parallel {
    pin h1 = shard((4, 2));
    pin "h1" shard((4, 2));
    pin "h1" = ;
    pin "h1" = 3;
    mesh = (dp = 4, tp);
    = 3;
}
)",
              R"(
error[E0101]: expected a string after `pin`
  --> test.model:2:9
   |
 2 |     pin h1 = shard((4, 2));
   |         ^^ found `h1`

error[E0101]: expected `=` after the string
  --> test.model:3:14
   |
 3 |     pin "h1" shard((4, 2));
   |              ^^^^^ found `shard`

error[E0101]: expected an attribute after `=`
  --> test.model:4:16
   |
 4 |     pin "h1" = ;
   |                ^ found `;`

error[E0101]: expected an attribute after `=`
  --> test.model:5:16
   |
 5 |     pin "h1" = 3;
   |                ^ found `3`

error[E0101]: expected a setting, a pin or `}`
  --> test.model:7:5
   |
 7 |     = 3;
   |     ^ found `=`
)");
}

TEST(SyntaxErrorsTest, Attributes) {
  CheckErrors(R"(#[]
model M {
    #[3] let x = 1;
    #shard let y = 2;
    let z = #[region(] f(x);
}
)",
              R"(
error[E0101]: expected an attribute after `[`
  --> test.model:1:3
   |
 1 | #[]
   |   ^ found `]`

error[E0101]: expected an attribute after `[`
  --> test.model:3:7
   |
 3 |     #[3] let x = 1;
   |       ^ found `3`

error[E0101]: expected `[` after `#`
  --> test.model:4:6
   |
 4 |     #shard let y = 2;
   |      ^^^^^ found `shard`

error[E0102]: `(` is never closed
  --> test.model:5:21
   |
 5 |     let z = #[region(] f(x);
   |                      - `)` is missing before this
   |                     ^ opened here
)");
}

TEST(SyntaxErrorsTest, Calls) {
  CheckErrors(R"(fn f() {
    let a = f(x, , y);
    let b = f(, x);
    let c = f(x = );
    let d = x[];
    let e = x[0 1];
    let g = { a: 1 };
    let h = { "a" = 1 };
}
)",
              R"(
error[E0101]: expected an expression or `)` after `,`
  --> test.model:2:18
   |
 2 |     let a = f(x, , y);
   |                  ^ found `,`

error[E0101]: expected an expression or `)` after `(`
  --> test.model:3:15
   |
 3 |     let b = f(, x);
   |               ^ found `,`

error[E0101]: expected an expression after `=`
  --> test.model:4:19
   |
 4 |     let c = f(x = );
   |                   ^ found `)`

error[E0101]: expected an expression after `[`
  --> test.model:5:15
   |
 5 |     let d = x[];
   |               ^ found `]`

error[E0101]: expected `,` or `]` after `0`
  --> test.model:6:17
   |
 6 |     let e = x[0 1];
   |                 ^ found `1`

error[E0101]: expected an expression after `=`
  --> test.model:7:13
   |
 7 |     let g = { a: 1 };
   |             ^ found `{`

error[E0101]: expected an expression after `=`
  --> test.model:8:13
   |
 8 |     let h = { "a" = 1 };
   |             ^ found `{`
)");
}

TEST(SyntaxErrorsTest, ComparisonsDoNotChain) {
  CheckErrors(R"(fn f() {
    let a = x < y < z;
}
)",
              R"(
error[E0101]: expected `;` after `y`
  --> test.model:2:19
   |
 2 |     let a = x < y < z;
   |                   ^ found `<`
   |
help: comparisons do not chain; put one of them in parentheses
)");
}

TEST(SyntaxErrorsTest, Print) {
  CheckErrors(R"(fn f() {
    print x;
    print();
    print(local);
    print(local x y);
    assert_finite(x, y);
}
)",
              R"(
error[E0101]: expected `=` or `(` after `print`
  --> test.model:2:11
   |
 2 |     print x;
   |           ^ found `x`

error[E0101]: expected an expression after `(`
  --> test.model:3:11
   |
 3 |     print();
   |           ^ found `)`

error[E0101]: expected `)` after `x`
  --> test.model:5:19
   |
 5 |     print(local x y);
   |                   ^ found `y`

error[E0101]: expected `)` after `x`
  --> test.model:6:20
   |
 6 |     assert_finite(x, y);
   |                    ^ found `,`
)");
}

TEST(SyntaxErrorsTest, WhatIsNoStatement) {
  CheckErrors(R"(fn f() {
    3 + 4;
    x;
    if x { y = 1; }
    let z = 1;;
}
)",
              R"(
error[E0101]: expected a statement or `}`
  --> test.model:2:5
   |
 2 |     3 + 4;
   |     ^ found `3`

error[E0101]: expected `=`, `(` or `[` after `x`
  --> test.model:3:6
   |
 3 |     x;
   |      ^ found `;`

error[E0101]: expected `=`, `(` or `[` after `if`
  --> test.model:4:8
   |
 4 |     if x { y = 1; }
   |        ^ found `x`

error[E0101]: expected a statement or `}` after `;`
  --> test.model:5:15
   |
 5 |     let z = 1;;
   |               ^ found `;`
)");
}

TEST(SyntaxErrorsTest, WhatTheGrammarTakesAndTheLanguageDoesNot) {
  CheckErrors(R"(fn f() {
    x[0] = 3;
    f(x) = 4;
    x[0];
    let y = f(a + 1 = 2, (b) = 3, "c" = 4);
}
)",
              R"(
error[E0115]: expected a name before `=`
  --> test.model:2:5
   |
 2 |     x[0] = 3;
   |     ^^^^ a part of a value cannot be assigned
   |
help: make a new value: `let new_x = …;`

error[E0115]: expected a name before `=`
  --> test.model:3:5
   |
 3 |     f(x) = 4;
   |     ^^^^ a part of a value cannot be assigned
   |
help: make a new value: `let new_f = …;`

error[E0115]: expected a call as a statement
  --> test.model:4:5
   |
 4 |     x[0];
   |     ^^^^ this has no effect
   |
help: give it a name: `let part = x[…];`

error[E0115]: expected a name before `=`
  --> test.model:5:15
   |
 5 |     let y = f(a + 1 = 2, (b) = 3, "c" = 4);
   |               ^^^^^ not a name
   |
help: an argument is given as `name = value`; equality is written `==`

error[E0115]: expected a name before `=`
  --> test.model:5:26
   |
 5 |     let y = f(a + 1 = 2, (b) = 3, "c" = 4);
   |                          ^^^ not a name
   |
help: an argument is given as `name = value`; equality is written `==`

error[E0115]: expected a name before `=`
  --> test.model:5:35
   |
 5 |     let y = f(a + 1 = 2, (b) = 3, "c" = 4);
   |                                   ^^^ not a name
   |
help: an argument is given as `name = value`; equality is written `==`
)");
}

TEST(SyntaxErrorsTest, AtMostTwentyErrorsAreShown) {
  std::string text = "fn f() {\n";
  for (int i = 0; i < 25; ++i) text += "    let x = ;\n";
  SourceSet sources;
  const Diagnostics diagnostics = ParseBad(text + "}\n", sources);
  EXPECT_EQ(diagnostics.error_count(), 25);
  EXPECT_EQ(diagnostics.items().size(), 20u);
}

TEST(SyntaxErrorsTest, ErrorsComeInTheOrderOfTheText) {
  SourceSet sources;
  const Diagnostics diagnostics =
      ParseBad("fn f() {\n let a = ;\n let b = 3x;\n let c = (1;\n let d = ;\n}\n", sources);
  int32_t last = 0;
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    EXPECT_LE(last, diagnostic.labels[0].span.begin);
    last = diagnostic.labels[0].span.begin;
  }
  EXPECT_EQ(diagnostics.items().size(), 4u);
}

TEST(SyntaxErrorsTest, DeepExpressions) {
  const auto repeat = [](const std::string& part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  const int many = 10'000;
  for (const std::string& value : {repeat("1+", many) + "1", repeat("1*", many) + "1", repeat("-", many) + "1",
                                   "f" + repeat("(x)", many), "x" + repeat("[0]", many), repeat("-#[a]", many) + "x",
                                   repeat("(" + repeat("-", 20), 60) + "x" + repeat(")", 60)}) {
    SourceSet sources;
    const Diagnostics diagnostics = ParseBad("fn f() { return " + value + "; }", sources);
    ASSERT_EQ(diagnostics.items().size(), 1u);
    EXPECT_EQ(diagnostics.items()[0].code, Code::kE0109);
    EXPECT_EQ(diagnostics.items()[0].message, "expression of more than 1000 levels");
  }
}

}  // namespace
}  // namespace cleave
