// Tests, word for word, the errors for text that does not follow the grammar: when a text here changes, read it as a
// user would.
#include <gtest/gtest.h>

#include <string>

#include "dsl/parse/parse.h"
#include "dsl/parse/testing.h"

namespace cleave::dsl {
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

fn f(x f32[n]) -> {
    return x
}

train M {
    epochs = ;
    foo 3;
}
)",
              R"(
error[E0101]: expected an expression after `=`
  --> test.model:2:13
   |
 2 |     let a = ;
   |             ^ found `;`

error[E0101]: expected `,` or `)` after `x`
  --> test.model:3:17
   |
 3 |     let b = f(x y);
   |                 ^ found `y`

error[E0101]: expected `=`, `(` or `[` after `lett`
  --> test.model:4:10
   |
 4 |     lett c = 1;
   |          ^ found `c`
   |
help: did you mean `let`?

error[E0101]: expected a name after `let`
  --> test.model:5:9
   |
 5 |     let = 5;
   |         ^ found `=`

error[E0102]: `(` is never closed
  --> test.model:6:11
   |
 6 |     loss m(a;
   |             - `)` is missing before this
   |           ^ opened here

error[E0101]: expected `:` after `x`
  --> test.model:9:8
   |
 9 | fn f(x f32[n]) -> {
   |        ^^^ found `f32`

error[E0101]: expected a type after `->`
  --> test.model:9:19
   |
 9 | fn f(x f32[n]) -> {
   |                   ^ found `{`

error[E0101]: expected `;` after `x`
   --> test.model:10:13
    |
 10 |     return x
    |             ^ found `}` instead

error[E0101]: expected an expression after `=`
   --> test.model:14:14
    |
 14 |     epochs = ;
    |              ^ found `;`

error[E0101]: expected `=` after `foo`
   --> test.model:15:9
    |
 15 |     foo 3;
    |         ^ found `3`
)");
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
error[E0101]: expected `import`, `record`, `model`, `fn`, `op`, `train`, `parallel` or `expect`
  --> test.model:1:1
   |
 1 | modle M {}
   | ^^^^^ found `modle`
   |
help: did you mean `model`?

error[E0101]: expected `import`, `record`, `model`, `fn`, `op`, `train`, `parallel` or `expect`
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
error[E0101]: expected `import`, `record`, `model`, `fn`, `op`, `train`, `parallel` or `expect`
  --> test.model:1:1
   |
 1 | let x = 3;
   | ^^^ found `let`
   |
help: statements belong in the body of a `model` or `fn`
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

TEST(SyntaxErrorsTest, SeveralNamesAndResults) {
  CheckErrors(R"(fn f(x: f32[n]) -> (f32[n]) {
    let (a) = x;
    let (a, b): f32[n] = x;
    let (a, 3) = x;
    let _ = x;
    (a, b);
}

fn g() -> () {}
)",
              R"(
error[E0101]: expected `,` after `]`
  --> test.model:1:27
   |
 1 | fn f(x: f32[n]) -> (f32[n]) {
   |                           ^ found `)`

error[E0101]: expected `,` after `a`
  --> test.model:2:11
   |
 2 |     let (a) = x;
   |           ^ found `)`

error[E0101]: expected `=` after `)`
  --> test.model:3:15
   |
 3 |     let (a, b): f32[n] = x;
   |               ^ found `:`

error[E0101]: expected a name after `,`
  --> test.model:4:13
   |
 4 |     let (a, 3) = x;
   |             ^ found `3`

error[E0101]: expected a name after `let`
  --> test.model:5:9
   |
 5 |     let _ = x;
   |         ^ found `_`

error[E0101]: expected `=` after `)`
  --> test.model:6:11
   |
 6 |     (a, b);
   |           ^ found `;`

error[E0101]: expected a type after `(`
  --> test.model:9:12
   |
 9 | fn g() -> () {}
   |            ^ found `)`
)");
}

TEST(SyntaxErrorsTest, ForLoops) {
  CheckErrors(R"(fn f() {
    for i 0..3 {}
    for in 0..3 {}
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

error[E0101]: expected an expression after `..`
  --> test.model:4:18
   |
 4 |     for i in 0.. {}
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

error[E0101]: expected a statement or `}` after `;`
  --> test.model:4:15
   |
 4 |     let z = 1;;
   |               ^ found `;`
)");
}

TEST(SyntaxErrorsTest, Conditions) {
  CheckErrors(R"(fn f() {
    if a y = 1;
    if b { y = 1 }
    y = 2;
    else { y = 1; }
}
)",
              R"(
error[E0101]: expected `{` after `a`
  --> test.model:2:10
   |
 2 |     if a y = 1;
   |          ^ found `y`

error[E0101]: expected `;` after `1`
  --> test.model:3:18
   |
 3 |     if b { y = 1 }
   |                  ^ found `}`

error[E0101]: expected a statement or `}`
  --> test.model:5:5
   |
 5 |     else { y = 1; }
   |     ^^^^ `else` is a reserved word
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

}  // namespace
}  // namespace cleave::dsl
