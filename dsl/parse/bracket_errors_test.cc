// Tests the errors for brackets without partners, and for too many brackets.
#include <gtest/gtest.h>

#include <string>

#include "dsl/parse/parse.h"
#include "dsl/parse/testing.h"

namespace cleave::dsl {
namespace {

TEST(BracketErrorsTest, MissingBraceAtTheEnd) {
  CheckErrors(R"(model M {
    for i in 0..3 {
        let x = i;
    }
    let y = ;
)",
              R"(
error[E0102]: `{` is never closed
  --> test.model:1:9
   |
 1 | model M {
   |         ^ opened here
   |
help: add `}`

error[E0101]: expected an expression after `=`
  --> test.model:5:13
   |
 5 |     let y = ;
   |             ^ found `;`
)");
}

TEST(BracketErrorsTest, MissingBraceBeforeAFunction) {
  CheckErrors(R"(model M {
    let x = 1;

fn f() {
    return 1;
}
)",
              R"(
error[E0102]: `{` is never closed
  --> test.model:1:9
   |
 1 | model M {
   |         ^ opened here
...
 4 | fn f() {
   | -- `}` is missing before this
)");
}

TEST(BracketErrorsTest, MissingBraceBeforeATrainBlock) {
  CheckErrors(R"(model M {
    let x = 1;

train M {
    epochs = 3;
}
)",
              R"(
error[E0102]: `{` is never closed
  --> test.model:1:9
   |
 1 | model M {
   |         ^ opened here
...
 4 | train M {
   | ----- `}` is missing before this
)");
}

TEST(BracketErrorsTest, MissingParenthesis) {
  CheckErrors(R"(fn f() {
    let x = f(a, b;
    let y = x[0;
    let z = ;
}
)",
              R"(
error[E0102]: `(` is never closed
  --> test.model:2:14
   |
 2 |     let x = f(a, b;
   |                   - `)` is missing before this
   |              ^ opened here

error[E0102]: `[` is never closed
  --> test.model:3:14
   |
 3 |     let y = x[0;
   |                - `]` is missing before this
   |              ^ opened here

error[E0101]: expected an expression after `=`
  --> test.model:4:13
   |
 4 |     let z = ;
   |             ^ found `;`
)");
}

TEST(BracketErrorsTest, ClosingBracketOfAnotherKind) {
  CheckErrors(R"(fn f() {
    let x = f(a];
    let y = g);
}
}
)",
              R"(
error[E0102]: `(` is never closed
  --> test.model:2:14
   |
 2 |     let x = f(a];
   |                 - `)` is missing before this
   |              ^ opened here

error[E0102]: `]` closes nothing
  --> test.model:2:16
   |
 2 |     let x = f(a];
   |                ^ no open bracket matches

error[E0102]: `)` closes nothing
  --> test.model:3:14
   |
 3 |     let y = g);
   |              ^ no open bracket matches

error[E0102]: `}` closes nothing
  --> test.model:5:1
   |
 5 | }
   | ^ no open bracket matches
)");
}

TEST(BracketErrorsTest, UnfinishedAttribute) {
  CheckErrors(R"(#[shard((4, 2)
model M {}
)",
              R"(
error[E0102]: `[` is never closed
  --> test.model:1:2
   |
 1 | #[shard((4, 2)
   |  ^ opened here
 2 | model M {}
   | ----- `]` is missing before this

error[E0102]: `(` is never closed
  --> test.model:1:8
   |
 1 | #[shard((4, 2)
   |        ^ opened here
 2 | model M {}
   | ----- `)` is missing before this
)");
}

TEST(BracketErrorsTest, ItemAfterAnother) {
  CheckErrors(R"(model M {} }
fn f() {}
)",
              R"(
error[E0102]: `}` closes nothing
  --> test.model:1:12
   |
 1 | model M {} }
   |            ^ no open bracket matches
)");
}

TEST(BracketErrorsTest, DeepNesting) {
  for (const std::string open : {"(", "[", "{", "f(", "x[", "#[a("}) {
    std::string text = "fn f() { return ";
    for (int i = 0; i < 100'000; ++i) text += open;
    SourceSet sources;
    const Diagnostics diagnostics = ParseBad(text, sources);
    ASSERT_EQ(diagnostics.items().size(), 1u);
    EXPECT_EQ(diagnostics.items()[0].code, Code::kE0109);
    EXPECT_EQ(diagnostics.items()[0].message, "brackets nest more than 256 deep");
  }
}

}  // namespace
}  // namespace cleave::dsl
