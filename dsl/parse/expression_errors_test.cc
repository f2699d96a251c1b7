// Tests the errors for expressions and attributes that do not follow the grammar.
#include <gtest/gtest.h>

#include <string>

#include "dsl/parse/parse.h"
#include "dsl/parse/testing.h"

namespace cleave::dsl {
namespace {

TEST(ExpressionErrorsTest, Calls) {
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

TEST(ExpressionErrorsTest, ComparisonsDoNotChain) {
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

TEST(ExpressionErrorsTest, Attributes) {
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

TEST(ExpressionErrorsTest, WhatTheGrammarTakesAndTheLanguageDoesNot) {
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

TEST(ExpressionErrorsTest, DeepExpressions) {
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
}  // namespace cleave::dsl
