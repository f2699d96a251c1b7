// `#[recompute]`, `#[keep]` and `#[offload]`: which ops they reach, and which of several decides.
#include "frontend/evaluate/pins/retentions.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/frontend.h"
#include "frontend/testing.h"
#include "gtest/gtest.h"

namespace cleave::frontend {
namespace {

using Texts = std::vector<std::string>;

// "y.relu: recompute", in program order; checks that there are no messages.
Texts RetentionsOf(const std::string& body, const std::string& rest = "") {
  const Analyzed analyzed = AnalyzeBody(body, rest);
  EXPECT_EQ(analyzed.messages, "");
  Texts texts;
  if (!analyzed.module.has_value()) return texts;
  for (const ir::RetentionPin& pin : analyzed.module->pins.retentions) {
    EXPECT_TRUE(pin.span.is_somewhere());
    texts.push_back(absl::StrCat(analyzed.module->graph.op(pin.op).name, ": ", ir::RetentionName(pin.retention)));
  }
  return texts;
}

constexpr char kThreeOps[] =
    "fn layer(x: f32[n, k]) -> f32[n, k] { let a = tanh(x); let b = relu(a); return a + b; }\n";

TEST(RetentionsTest, AllOpsOfTheOutermostCall) {
  EXPECT_EQ(RetentionsOf("#[recompute] let y = dense(relu(x), 4); loss reduce_mean(y);"),
            (Texts{"y.matmul: recompute", "y.bias_add: recompute"}));
  EXPECT_EQ(RetentionsOf("let y = relu(#[keep] tanh(x)); loss reduce_mean(y);"), (Texts{"y.tanh: keep"}));
  EXPECT_EQ(RetentionsOf("let mut h = x; #[recompute] h = relu(h); loss reduce_mean(h);"),
            (Texts{"h.relu: recompute"}));
  EXPECT_EQ(RetentionsOf("#[offload] let y = dense(x, 4); loss reduce_mean(y);"),
            (Texts{"y.matmul: offload", "y.bias_add: offload"}));
  EXPECT_EQ(RetentionsOf("#[keep] let (y, z) = split(x, 2, axis = 0); loss reduce_mean(y + z);"),
            (Texts{"y.slice: keep", "z.slice: keep"}));
  EXPECT_EQ(RetentionsOf("#[recompute] let y = layer(x); loss reduce_mean(y);", kThreeOps),
            (Texts{"y.a.tanh: recompute", "y.b.relu: recompute", "y.add: recompute"}));
  EXPECT_EQ(RetentionsOf("#[region] #[recompute] let y = relu(x); loss reduce_mean(y);"),
            (Texts{"y.in_0: recompute", "y.relu: recompute", "y.out: recompute"}));
}

TEST(RetentionsTest, PinsByName) {
  EXPECT_EQ(RetentionsOf("let y = dense(x, 4); loss reduce_mean(y);",
                         "parallel { pin \"y.matmul\" = keep; pin \"y.bias_add\" = recompute; }"),
            (Texts{"y.matmul: keep", "y.bias_add: recompute"}));
  EXPECT_EQ(
      RetentionsOf("#[recompute] let y = dense(x, 4); loss reduce_mean(y);", "parallel { pin \"y.matmul\" = keep; }"),
      (Texts{"y.matmul: keep", "y.bias_add: recompute"}));
}

TEST(RetentionsTest, FunctionsLeaveTheirResultsOpen) {
  const std::string body = "let y = layer(x); let z = layer(y); loss reduce_mean(z);";
  EXPECT_EQ(RetentionsOf(body, absl::StrCat("#[recompute] ", kThreeOps)),
            (Texts{"y.a.tanh: recompute", "y.b.relu: recompute", "z.a.tanh: recompute", "z.b.relu: recompute"}));
  EXPECT_EQ(RetentionsOf("let y = layer(x); loss reduce_mean(y);", absl::StrCat("#[keep] ", kThreeOps)),
            (Texts{"y.a.tanh: keep", "y.b.relu: keep", "y.add: keep"}));
  EXPECT_EQ(RetentionsOf("let y = layer(x); loss reduce_mean(y);", absl::StrCat("#[offload] ", kThreeOps)),
            (Texts{"y.a.tanh: offload", "y.b.relu: offload", "y.add: offload"}));
  EXPECT_EQ(RetentionsOf("let (y, z) = pair(x); loss reduce_mean(y + z);",
                         "#[recompute] fn pair(x: f32[n, k]) -> (f32[n, k], f32[n, k]) { let a = tanh(x); let b = "
                         "relu(a); return (b, sigmoid(a)); }"),
            (Texts{"y_z.a.tanh: recompute"}));
}

TEST(RetentionsTest, PassesLeaveOpenWhatOutlivesThem) {
  EXPECT_EQ(RetentionsOf("let mut h = x; #[recompute] for i in 0..2 { let a = tanh(h); h = a + relu(h); } loss "
                         "reduce_mean(h);"),
            (Texts{"a.0.tanh: recompute", "h.0.relu: recompute", "a.1.tanh: recompute", "h.1.relu: recompute"}));
  EXPECT_EQ(RetentionsOf("let mut h = x; #[keep] for i in 0..2 { h = relu(h); } loss reduce_mean(h);"),
            (Texts{"h.0.relu: keep", "h.1.relu: keep"}));
  // What a function inside of the pass gives back does not outlive the pass.
  EXPECT_EQ(
      RetentionsOf("let mut h = x; #[recompute] for i in 0..1 { h = h * layer(h); } loss reduce_mean(h);", kThreeOps),
      (Texts{"h.0.a.tanh: recompute", "h.0.b.relu: recompute", "h.0.add: recompute"}));
}

TEST(RetentionsTest, TheInnermostDecides) {
  const std::string outer =
      "#[recompute] fn outer(x: f32[n, k]) -> f32[n, k] { let c = layer(x); #[keep] let d = sigmoid(c); return c * d; "
      "}";
  EXPECT_EQ(RetentionsOf("let y = outer(x); loss reduce_mean(y);", absl::StrCat("#[keep] ", kThreeOps, outer)),
            (Texts{"y.c.a.tanh: keep", "y.c.b.relu: keep", "y.c.add: keep", "y.d.sigmoid: keep"}));
  EXPECT_EQ(RetentionsOf("let mut h = x; #[keep] for i in 0..1 { let a = tanh(h); h = layer(a); } loss reduce_mean(h);",
                         absl::StrCat("#[recompute] ", kThreeOps)),
            (Texts{"a.0.tanh: keep", "h.0.a.tanh: recompute", "h.0.b.relu: recompute", "h.0.add: keep"}));
}

TEST(RetentionsTest, MappedFunctions) {
  const std::string row =
      "fn row(x: f32[k]) -> f32[k] { let a = tanh(x); #[keep] let b = relu(a); return b * sigmoid(a); }";
  EXPECT_EQ(RetentionsOf("let y = vmap(row)(x); loss reduce_mean(y);", row), (Texts{"y.b.relu: keep"}));
  EXPECT_EQ(RetentionsOf("#[recompute] let y = vmap(row)(x); loss reduce_mean(y);", row),
            (Texts{"y.a.tanh: recompute", "y.b.relu: keep", "y.sigmoid: recompute", "y.mul: recompute"}));
  EXPECT_EQ(RetentionsOf("let y = vmap(row)(x); loss reduce_mean(y);", absl::StrCat("#[recompute] ", row)),
            (Texts{"y.a.tanh: recompute", "y.b.relu: keep", "y.sigmoid: recompute"}));
}

TEST(RetentionsTest, OnlyOfForwardOps) {
  EXPECT_EQ(RetentionsOf("#[keep] loss reduce_mean(x); #[keep] metric mse(relu(x), x);").size(), 1u);
  EXPECT_EQ(RetentionsOf("let y = layer(x); loss reduce_mean(y); metric mse(layer(y), x);",
                         absl::StrCat("#[recompute] ", kThreeOps)),
            (Texts{"y.a.tanh: recompute", "y.b.relu: recompute"}));
  EXPECT_EQ(RetentionsOf("let y = relu(x); #[keep] let _z = tanh(y); loss reduce_mean(y);"), Texts());
}

TEST(RetentionsTest, Mistakes) {
  struct Mistake {
    const char* body;
    const char* rest;
    const char* message;
  };
  const std::string recomputed = absl::StrCat("#[recompute] ", kThreeOps);
  for (const Mistake& c : {
           Mistake{"#[recompute] param w: f32[6, 6] = zeros(); loss reduce_mean(matmul(x, w));", "",
                   "E0305]: `recompute` on the parameter `w`"},
           Mistake{"#[keep] input y: f32[8, 6]; loss reduce_mean(x + y);", "", "E0305]: `keep` on the input `y`"},
           Mistake{"let y = dense(x, 4); loss reduce_mean(y);", "parallel { pin \"y.weight\" = recompute; }",
                   "E0305]: `recompute` on the parameter `y.weight`"},
           Mistake{"#[recompute] loss reduce_mean(x);", "", "E0305]: `recompute` on the loss `loss.reduce_mean`"},
           Mistake{"#[offload] loss reduce_mean(x);", "", "E0305]: `offload` on the loss `loss.reduce_mean`"},
           Mistake{"loss reduce_mean(x); #[recompute] metric mse(relu(x), x);", "",
                   "E0305]: `recompute` on `metric.mse`, which only metrics need"},
           Mistake{"loss reduce_mean(x); #[offload] let z = relu(x); metric mse(z, x);", "",
                   "E0305]: `offload` on `z.relu`, which only metrics need"},
           Mistake{"#[recompute] let y = x; loss reduce_mean(y);", "", "E0305]: `#[recompute]` applies to no op"},
           Mistake{"#[keep] let n = 4; loss reduce_mean(dense(x, n));", "", "E0305]: `#[keep]` applies to no op"},
           Mistake{"#[recompute(x)] let y = relu(x); loss reduce_mean(y);", "",
                   "E0303]: `recompute` takes no arguments"},
           Mistake{"let y = f(x); loss reduce_mean(y);",
                   "#[recompute] fn f(x: f32[n, k]) -> f32[n, k] { return relu(x); }",
                   "E0305]: `recompute` on a function or a loop whose values are all handed on"},
           Mistake{"let mut h = x; #[recompute] for i in 0..2 { h = relu(h); } loss reduce_mean(h);", "",
                   "E0305]: `recompute` on a function or a loop whose values are all handed on"},
           Mistake{"#[recompute] #[keep] let y = relu(x); loss reduce_mean(y);", "",
                   "E0307]: `keep` and `recompute` on `y.relu` contradict each other"},
           Mistake{"let mut h = x; for i in 0..3 { #[recompute] #[keep] h = relu(h); } loss reduce_mean(h);", "",
                   "E0307]: `keep` and `recompute` on `h.0.relu` contradict each other"},
           Mistake{"#[recompute] let y = #[keep] dense(x, 4); loss reduce_mean(y);", "",
                   "E0307]: `keep` and `recompute` on `y.matmul` contradict each other"},
           Mistake{"#[keep] let y = relu(x); loss reduce_mean(y);", "parallel { pin \"y.relu\" = recompute; }",
                   "E0307]: `keep` and `recompute` on `y.relu` contradict each other"},
           Mistake{"#[offload] param w: f32[6, 6] = zeros(); loss reduce_mean(matmul(x, w));", "",
                   "E0305]: `offload` on the parameter `w`"},
           Mistake{"#[recompute] #[offload] let y = relu(x); loss reduce_mean(y);", "",
                   "E0307]: `offload` and `recompute` on `y.relu` contradict each other"},
           Mistake{"#[offload] #[keep] let y = relu(x); loss reduce_mean(y);", "",
                   "E0307]: `keep` and `offload` on `y.relu` contradict each other"},
           Mistake{"#[keep] let y = layer(x); loss reduce_mean(y);", recomputed.c_str(),
                   "E0307]: `keep` and `recompute` on `y.a.tanh` contradict each other"},
       }) {
    const Analyzed analyzed = AnalyzeBody(c.body, c.rest);
    EXPECT_FALSE(analyzed.module.has_value()) << c.body;
    EXPECT_NE(analyzed.messages.find(c.message), std::string::npos) << c.body << "\n" << analyzed.messages;
    EXPECT_EQ(analyzed.messages.find("error["), analyzed.messages.rfind("error[")) << "one mistake, one message";
  }
}

}  // namespace
}  // namespace cleave::frontend
