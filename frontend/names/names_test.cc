#include "frontend/names/names.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/diagnostic/diagnostic.h"
#include "dsl/parse/parse.h"
#include "frontend/imports/imports.h"
#include "frontend/report/report.h"

namespace cleave::frontend {
namespace {

// Every use as "name@offset->offset of what it means", for what the text defines; "-" where another text does.
std::string UsesIn(const std::string& text) {
  SourceSet sources;
  Diagnostics diagnostics;
  Reporter reporter(sources, diagnostics);
  const FileId prelude_id =
      sources.Add("p", "fn relu2(x: f32[..n], times: int) -> f32[..n] { return x; }", TextOrigin::kBuiltIn);
  const dsl::syntax::File prelude = *dsl::Parse(prelude_id, sources, diagnostics);
  const dsl::syntax::File file = dsl::ParseWhatFits(sources.Add("a.model", text), sources, diagnostics);
  const FunctionTable functions(file, {}, prelude, reporter);
  const TextNames names = NamesIn(file, sources.file(file.file).text(), functions);
  std::string uses;
  for (const TextUse& use : names.uses) {
    EXPECT_EQ(sources.file(file.file).text().substr(static_cast<size_t>(use.span.begin),
                                                    static_cast<size_t>(use.span.end - use.span.begin)),
              use.text);
    absl::StrAppend(
        &uses, uses.empty() ? "" : " ", use.text, "->",
        use.definition.has_value() ? absl::StrCat(names.definitions[*use.definition].name.span.begin) : "-");
  }
  return uses;
}

TEST(NamesTest, BlocksHideNames) {
  EXPECT_EQ(UsesIn("fn f(x: f32[n]) -> f32[n] { let a = x; if true { let a = a; let b = a; } return a; }"),
            "n->12 x->5 a->32 a->53 a->32");
  EXPECT_EQ(UsesIn("fn f(x: f32[n]) -> f32[n] { let mut h = x; for i in 0..3 { h = h * i; } return h; }"),
            "n->12 x->5 h->36 i->47 h->36 h->36");
}

TEST(NamesTest, FunctionsArgumentsAndSymbols) {
  EXPECT_EQ(UsesIn("fn f(x: f32[..n, k], u: int = 2) -> f32[..n, u] { return f(x, u = k); }"),
            "n->14 u->21 f->3 u->21 x->5 k->17");
  EXPECT_EQ(UsesIn("fn g(act: layer, x: f32[n]) -> f32[n] { let r = relu2(x, times = 2); return act(r); }"),
            "n->24 relu2->- times->- x->17 act->5 r->44");
}

TEST(NamesTest, RecordsSettingsAndMessages) {
  EXPECT_EQ(UsesIn("record R { w: int; h: int = w; } model M(r: R, b: int = 3) { assert(b > 1, \"{b} is\"); }\n"
                   "train M { steps = b; }"),
            "w->11 R->7 b->47 b->47 M->39 b->47");
}

}  // namespace
}  // namespace cleave::frontend
