// Tests the errors for malformed characters, strings, comments, numbers and names.
#include <gtest/gtest.h>

#include <string>

#include "dsl/parse/parse.h"
#include "dsl/parse/testing.h"
#include "dsl/parse/tokens.h"

namespace cleave::dsl {
namespace {

TEST(TokenErrorsTest, Characters) {
  CheckErrors(R"(fn f() {
    let é = 3;
    let a = 'text';
    let b = 1. + .5;
    let c = x & y;
    let d = $$$x;
    let e = 2 ^ 3;
    let g = "…" ; // … is fine here
}
)",
              R"(
error[E0103]: unexpected character `é`
  --> test.model:2:9
   |
 2 |     let é = 3;
   |         ^ the language does not use it
   |
note: names have letters a to z, digits and `_`; any text may be used in strings and comments

error[E0103]: unexpected character `'`
  --> test.model:3:13
   |
 3 |     let a = 'text';
   |             ^ the language does not use it
   |
help: strings are written between double quotes: "data/mnist"

error[E0103]: unexpected character `'`
  --> test.model:3:18
   |
 3 |     let a = 'text';
   |                  ^ the language does not use it
   |
help: strings are written between double quotes: "data/mnist"

error[E0103]: unexpected character `.`
  --> test.model:4:14
   |
 4 |     let b = 1. + .5;
   |              ^ the language does not use it
   |
help: a float has digits on both sides of its dot: `1.0`, `0.5`

error[E0103]: unexpected character `.`
  --> test.model:4:18
   |
 4 |     let b = 1. + .5;
   |                  ^ the language does not use it
   |
help: a float has digits on both sides of its dot: `1.0`, `0.5`

error[E0103]: unexpected character `&`
  --> test.model:5:15
   |
 5 |     let c = x & y;
   |               ^ the language does not use it
   |
help: the operators are + - * / % == != < <= > >= && || !

error[E0103]: unexpected character `$`
  --> test.model:6:13
   |
 6 |     let d = $$$x;
   |             ^ the language does not use it

error[E0103]: unexpected character `^`
  --> test.model:7:15
   |
 7 |     let e = 2 ^ 3;
   |               ^ the language does not use it
   |
help: a power is written as a product
)");
}

TEST(TokenErrorsTest, ControlCharacter) {
  CheckErrors("fn f() {\n    let a = \x1b[31m;\n}\n",
              R"(
error[E0103]: unexpected control character 0x1b
  --> test.model:2:13
   |
 2 |     let a =  [31m;
   |             ^ the language does not use it

error[E0102]: `[` is never closed
  --> test.model:2:14
   |
 2 |     let a =  [31m;
   |                  - `]` is missing before this
   |              ^ opened here

error[E0107]: `31m` is no number, size or time
  --> test.model:2:17
   |
 2 |     let a =  [31m;
   |                 ^ not a unit of the language
   |
help: sizes end in B, KiB, MiB, GiB, TiB, KB, MB, GB or TB: `40GiB`; times in ns, us, ms or s: `20ms`; names do not begin with a digit
)");
}

TEST(TokenErrorsTest, OpenString) {
  CheckErrors(R"(fn f() {
    let a = mnist("data/mnist);
    let b = "open
    let c = 3;
}
)",
              R"(
error[E0104]: string without its closing quote
  --> test.model:2:19
   |
 2 |     let a = mnist("data/mnist);
   |                   ^ the string begins here, and its line ends before it
   |
help: close it with `"`; a line break within a string is written \n

error[E0104]: string without its closing quote
  --> test.model:3:13
   |
 3 |     let b = "open
   |             ^ the string begins here, and its line ends before it
   |
help: close it with `"`; a line break within a string is written \n

error[E0101]: expected `;` after the string
  --> test.model:3:18
   |
 3 |     let b = "open
   |                  ^ found `let` instead
)");
}

TEST(TokenErrorsTest, OpenComment) {
  CheckErrors(R"(fn f() {
    let a = 1;
}
/* never
 closed *
)",
              R"(
error[E0105]: comment without its end
  --> test.model:4:1
   |
 4 | /* never
   | ^^ the comment begins here, and the file ends before it
   |
help: close it with `*/`
)");
}

TEST(TokenErrorsTest, Escapes) {
  CheckErrors(R"(fn f() {
    let a = "C:\data\mnist";
    let b = "\é";
}
)",
              R"(
error[E0106]: unknown escape `\d`
  --> test.model:2:16
   |
 2 |     let a = "C:\data\mnist";
   |                ^^ not an escape
   |
help: the escapes are \" \\ \n \t; a path is written with `/`

error[E0106]: unknown escape `\m`
  --> test.model:2:21
   |
 2 |     let a = "C:\data\mnist";
   |                     ^^ not an escape
   |
help: the escapes are \" \\ \n \t; a path is written with `/`

error[E0106]: unknown escape `\é`
  --> test.model:3:14
   |
 3 |     let b = "\é";
   |              ^^ not an escape
   |
help: the escapes are \" \\ \n \t; a path is written with `/`
)");
}

TEST(TokenErrorsTest, Numbers) {
  CheckErrors(R"(fn f() {
    let a = 40Gb;
    let b = 3x;
    let c = 9223372036854775808;
    let d = 1e309;
    let e = 8388608TiB;
    let g = 1.5e;
}
)",
              R"(
error[E0107]: `40Gb` is no number, size or time
  --> test.model:2:15
   |
 2 |     let a = 40Gb;
   |               ^^ not a unit of the language
   |
help: sizes end in B, KiB, MiB, GiB, TiB, KB, MB, GB or TB: `40GiB`; times in ns, us, ms or s: `20ms`; names do not begin with a digit

error[E0107]: `3x` is no number, size or time
  --> test.model:3:14
   |
 3 |     let b = 3x;
   |              ^ not a unit of the language
   |
help: sizes end in B, KiB, MiB, GiB, TiB, KB, MB, GB or TB: `40GiB`; times in ns, us, ms or s: `20ms`; names do not begin with a digit

error[E0108]: number too large
  --> test.model:4:13
   |
 4 |     let c = 9223372036854775808;
   |             ^^^^^^^^^^^^^^^^^^^ at most 9,223,372,036,854,775,807 (2^63 - 1)

error[E0108]: number too large
  --> test.model:5:13
   |
 5 |     let d = 1e309;
   |             ^^^^^ at most about 1.8e308, the largest 64-bit float

error[E0108]: number too large
  --> test.model:6:13
   |
 6 |     let e = 8388608TiB;
   |             ^^^^^^^^^^ at most 2^63 - 1 bytes

error[E0107]: `1.5e` is no number, size or time
  --> test.model:7:16
   |
 7 |     let g = 1.5e;
   |                ^ not a unit of the language
   |
help: sizes end in B, KiB, MiB, GiB, TiB, KB, MB, GB or TB: `40GiB`; times in ns, us, ms or s: `20ms`; names do not begin with a digit
)");
}

TEST(TokenErrorsTest, LongNames) {
  SourceSet sources;
  const Diagnostics diagnostics = ParseBad("fn f() { return " + std::string(10'240, 'n') + "; }", sources);
  ASSERT_EQ(diagnostics.items().size(), 1u);
  EXPECT_EQ(diagnostics.items()[0].message, "name of 10,240 characters");
  EXPECT_EQ(diagnostics.items()[0].labels[0].text, "a name has at most 255");
}

TEST(TokenErrorsTest, TextFromMemoryIsCheckedToo) {
  CheckErrors(std::string("model\0M {}", 10), R"(
error[E0112]: the file has a NUL byte at offset 5
  --> test.model:1:6
   |
 1 | model M {}
   |      ^ this byte
   |
note: a model file is text; this one may be a binary file or UTF-16
help: save the file as UTF-8
)");
  SourceSet sources;
  EXPECT_EQ(ParseBad("model \xff", sources).items()[0].code, Code::kE0111);
  EXPECT_EQ(ParseBad(std::string(static_cast<size_t>(kMaxSourceBytes) + 1, ' '), sources).items()[0].code,
            Code::kE0113);
  std::string many = "model M { let y = (0";
  for (size_t i = 0; i < kMaxTokens; ++i) many += ",0";
  const Diagnostics of_many = ParseBad(many + "); }", sources);
  ASSERT_EQ(of_many.items().size(), 1u) << "nothing is said of brackets that were not read";
  EXPECT_EQ(of_many.items()[0].code, Code::kE0113);
}

}  // namespace
}  // namespace cleave::dsl
