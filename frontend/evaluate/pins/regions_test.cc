// `#[region(…)]`: what belongs to a region, the pins of its border, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/evaluate/pins/testing.h"
#include "frontend/frontend.h"
#include "frontend/testing.h"

namespace cleave::frontend {
namespace {

const char* const kBlock =
    "fn block(x: f32[n, k], units: int) -> f32[n, units] {\n"
    "    let h = relu(dense(x, 4 * units));\n"
    "    return dense(h, units);\n"
    "}\n";

Module Understood(const std::string& body, const std::string& rest = kBlock) {
  Analyzed analyzed = AnalyzeBody(body, rest);
  EXPECT_TRUE(analyzed.module.has_value()) << analyzed.messages;
  return analyzed.module.value_or(Module());
}

std::vector<std::string> NamesOf(const Module& module, const ir::Region& region) {
  std::vector<std::string> names;
  for (ir::OpId op : region.ops) names.push_back(module.graph.op(op).name);
  return names;
}

// The pin on the op of this name; there must be one.
const ir::Pin* PinOn(const Module& module, const std::string& name) {
  const ir::Pin* found = nullptr;
  for (const ir::Pin& pin : module.pins.pins) {
    if (module.graph.op(pin.op).name != name) continue;
    EXPECT_EQ(found, nullptr) << "two pins on " << name;
    found = &pin;
  }
  return found;
}

TEST(RegionsTest, OpsAndBorder) {
  const Module module = Understood(
      "let y = #[region(in = ((4, 2)), out = data_parallel, objective = memory)] block(x, 3); loss reduce_mean(y);");
  ASSERT_EQ(module.pins.regions.size(), 1u);
  const ir::Region& region = module.pins.regions[0];
  EXPECT_EQ(region.name, "y");
  EXPECT_EQ(region.objective, ir::Objective::kMemory);
  EXPECT_EQ(NamesOf(module, region), (std::vector<std::string>{"y.in_0", "y.h.matmul", "y.h.bias_add", "y.h.relu",
                                                               "y.matmul", "y.bias_add", "y.out"}));
  const ir::Pin* in = PinOn(module, "y.in_0");
  ASSERT_NE(in, nullptr);
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(in->demand).in.at(0)), (std::vector<int64_t>{4, 2}));
  const ir::Pin* out = PinOn(module, "y.out");
  ASSERT_NE(out, nullptr);
  EXPECT_TRUE(std::holds_alternative<ir::DataParallelPin>(out->demand));
  EXPECT_EQ(module.graph.op(*module.graph.Find("loss.reduce_mean")).inputs[0], *module.graph.Find("y.out"));
  EXPECT_EQ(module.graph.op(*module.graph.Find("y.h.matmul")).inputs[0], *module.graph.Find("y.in_0"));
}

TEST(RegionsTest, BeforeALetOrInAnExpression) {
  const Module before = Understood("#[region(in = auto)] let y = block(x, 3); loss reduce_mean(y);");
  const Module inside = Understood("let y = #[region(in = auto)] block(x, 3); loss reduce_mean(y);");
  ASSERT_EQ(before.pins.regions.size(), 1u);
  ASSERT_EQ(inside.pins.regions.size(), 1u);
  EXPECT_EQ(NamesOf(before, before.pins.regions[0]), NamesOf(inside, inside.pins.regions[0]));
}

TEST(RegionsTest, OnAnOp) {
  const Module module = Understood(
      "param w: f32[6, 4] = zeros(); let y = #[region(in = ((8, 1), auto), out = (2, 4))] matmul(x, w); loss "
      "reduce_mean(y);");
  ASSERT_EQ(module.pins.regions.size(), 1u);
  EXPECT_EQ(NamesOf(module, module.pins.regions[0]),
            (std::vector<std::string>{"y.in_0", "y.in_1", "y.matmul", "y.out"}));
  EXPECT_EQ(PinOn(module, "y.in_1"), nullptr);
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(PinOn(module, "y.out")->demand).in.at(0)), (std::vector<int64_t>{2, 4}));
}

TEST(RegionsTest, ArgumentsDoNotBelongToIt) {
  const Module module =
      Understood("let y = #[region(objective = 0)] relu(#[region(objective = 1)] tanh(x)); loss reduce_mean(y);");
  ASSERT_EQ(module.pins.regions.size(), 2u);
  EXPECT_EQ(module.pins.regions[0].objective, ir::Objective::kMemory);
  EXPECT_EQ(module.pins.regions[1].objective, ir::Objective::kComputeToCommunication);
  EXPECT_EQ(NamesOf(module, module.pins.regions[0]), (std::vector<std::string>{"y.in_0", "y.tanh", "y.out"}));
  EXPECT_EQ(NamesOf(module, module.pins.regions[1]), (std::vector<std::string>{"y.in_0_1", "y.relu", "y.out_1"}));
}

TEST(RegionsTest, ABlockCalledTwice) {
  const Module module = Understood(
      "let y = #[region(in = ((8, 1)))] block(x, 6); let z = #[region(in = ((2, 2)))] block(y, 6); loss "
      "reduce_mean(z);");
  ASSERT_EQ(module.pins.regions.size(), 2u);
  EXPECT_EQ(module.pins.regions[0].name, "y");
  EXPECT_EQ(module.pins.regions[1].name, "z");
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(PinOn(module, "z.in_0")->demand).in.at(0)), (std::vector<int64_t>{2, 2}));
}

TEST(RegionsTest, InALoop) {
  const Module module =
      Understood("let mut y = x; for i in 0..2 { y = #[region(in = ((8, 1)))] block(y, 6); } loss reduce_mean(y);");
  ASSERT_EQ(module.pins.regions.size(), 2u);
  EXPECT_EQ(module.pins.regions[0].name, "y.0");
  EXPECT_EQ(module.pins.regions[1].name, "y.1");
}

TEST(RegionsTest, Parameters) {
  const Module module = Understood(
      "let y = #[region(params = { \"h.weight\": (8, 1), \"bias\": (1) })] block(x, 3); loss reduce_mean(y);");
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(PinOn(module, "y.h.weight")->demand).out), (std::vector<int64_t>{8, 1}));
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(PinOn(module, "y.bias")->demand).out), (std::vector<int64_t>{1}));
}

const char* const kPair =
    "fn pair(x: f32[n, k]) -> (f32[n, k], f32[k, n]) { let h = relu(dense(x, k)); return (tanh(h), transpose(h)); }\n";

TEST(RegionsTest, EachResultHasABorder) {
  const Module module = Understood(
      "let y = #[region(in = ((4, 2)), out = ((4, 1), full_batch), params = { \"h.weight\": (2, 1) })] pair(x); "
      "loss reduce_mean(matmul(y[0], y[1]));",
      kPair);
  ASSERT_EQ(module.pins.regions.size(), 1u);
  EXPECT_EQ(module.pins.regions[0].name, "y");
  EXPECT_EQ(NamesOf(module, module.pins.regions[0]),
            (std::vector<std::string>{"y.in_0", "y.h.matmul", "y.h.bias_add", "y.h.relu", "y.tanh", "y.transpose",
                                      "y.out_0", "y.out_1"}));
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(PinOn(module, "y.out_0")->demand).in.at(0)), (std::vector<int64_t>{4, 1}));
  EXPECT_TRUE(std::holds_alternative<ir::ReplicatePin>(PinOn(module, "y.out_1")->demand));
  EXPECT_NE(PinOn(module, "y.h.weight"), nullptr);
}

TEST(RegionsTest, ResultsWithNamesOfTheirOwn) {
  const Module module =
      Understood("#[region(out = (auto, data_parallel))] let (y, z) = pair(x); loss reduce_mean(matmul(y, z));", kPair);
  ASSERT_EQ(module.pins.regions.size(), 1u);
  EXPECT_EQ(module.pins.regions[0].name, "y_z");
  EXPECT_EQ(NamesOf(module, module.pins.regions[0]),
            (std::vector<std::string>{"y_z.in_0", "y_z.h.matmul", "y_z.h.bias_add", "y_z.h.relu", "y_z.tanh",
                                      "y_z.transpose", "y.out_0", "z.out_1"}));
  EXPECT_EQ(PinOn(module, "y.out_0"), nullptr);
  EXPECT_TRUE(std::holds_alternative<ir::DataParallelPin>(PinOn(module, "z.out_1")->demand));
}

TEST(RegionsTest, AResultThatNothingNeedsIsNotComputed) {
  const Module module = Understood("let (y, _) = #[region] pair(x); loss reduce_mean(y);", kPair);
  ASSERT_EQ(module.pins.regions.size(), 1u);
  EXPECT_EQ(NamesOf(module, module.pins.regions[0]),
            (std::vector<std::string>{"y.in_0", "y.h.matmul", "y.h.bias_add", "y.h.relu", "y.tanh", "y.out_0"}));
  EXPECT_EQ(module.pins.pins.size(), 1u);
  const Module pinned = Understood("let (y, _) = #[region(out = (auto, (2, 1)))] pair(x); loss reduce_mean(y);", kPair);
  EXPECT_NE(PinOn(pinned, "y.out_1"), nullptr);
}

TEST(RegionsTest, MappedFunctionsWithSeveralResults) {
  const Module module = Understood(
      "let (y, z) = #[region(out = ((2, 1, 1), auto))] vmap(halves)(x); loss reduce_mean(y + z);",
      "fn halves(x: f32[k]) -> (f32[1, k], f32[1, k]) { let h = reshape(x, (1, k)); return (relu(h), tanh(h)); }");
  ASSERT_EQ(module.pins.regions.size(), 1u);
  EXPECT_EQ(NumbersOf(std::get<ir::ShardPin>(PinOn(module, "y.out_0")->demand).in.at(0)),
            (std::vector<int64_t>{2, 1, 1}));
  EXPECT_TRUE(module.graph.Find("z.out_1").has_value());
}

TEST(RegionsTest, DefaultsComeFromTheParallelBlock) {
  const std::string body = "let y = #[region] block(x, 3); loss reduce_mean(y);";
  const Module plain = Understood(body);
  EXPECT_TRUE(std::holds_alternative<ir::ReplicatePin>(PinOn(plain, "y.out")->demand));
  EXPECT_EQ(plain.pins.regions[0].objective, ir::Objective::kSpeed);
  const Module set = Understood(
      body, std::string(kBlock) + "parallel { dataset = data_parallel; objective = memory; outside = search; }");
  EXPECT_TRUE(std::holds_alternative<ir::DataParallelPin>(PinOn(set, "y.out")->demand));
  EXPECT_EQ(set.pins.regions[0].objective, ir::Objective::kMemory);
  EXPECT_EQ(set.pins.settings.outside, ir::Outside::kSearch);
}

TEST(RegionsTest, AutoLeavesTheResultOpen) {
  const Module module = Understood("let y = #[region(out = auto)] block(x, 3); loss reduce_mean(y);");
  EXPECT_EQ(PinOn(module, "y.out"), nullptr);
}

TEST(RegionsTest, TensorsOnly) {
  const Module module = Understood(
      "param w: f32[6, 10] = zeros(); param b: f32[10] = zeros(); let y = #[region(in = ((4, 2), auto, auto), device = "
      "cpu)] dense_relu(x, w, b); loss reduce_mean(y);",
      "fn dense_relu(x: f32[n, k], w: f32[k, m], b: f32[m]) -> f32[n, m] { return relu(bias_add(matmul(x, w), b)); }");
  ASSERT_EQ(module.pins.regions.size(), 1u);
  EXPECT_EQ(module.pins.regions[0].device, ir::RegionDevice::kCpu);
  EXPECT_EQ(NamesOf(module, module.pins.regions[0]),
            (std::vector<std::string>{"y.in_0", "y.in_1", "y.in_2", "y.matmul", "y.bias_add", "y.relu", "y.out"}));
}

TEST(RegionsTest, OnlyOpsThatStayBelongToIt) {
  const Module module =
      Understood("let y = #[region(out = auto)] half(x); let _z = #[region(out = auto)] tanh(x); loss reduce_mean(y);",
                 "fn half(x: f32[n, k]) -> f32[n, k] { let _unused = tanh(x); return relu(x); }");
  ASSERT_EQ(module.pins.regions.size(), 1u) << "of `_z` nothing is left";
  EXPECT_EQ(NamesOf(module, module.pins.regions[0]), (std::vector<std::string>{"y.in_0", "y.relu", "y.out"}));
}

TEST(RegionsTest, Mistakes) {
  struct Mistake {
    const char* body;
    const char* rest;
    const char* code;
    const char* text;
  };
  const std::string nested =
      std::string(kBlock) + "fn outer(x: f32[n, k]) -> f32[n, k] { let a = #[region] tanh(x); return a; }";
  const std::string mapped = "fn row(x: f32[k]) -> f32[k] { return #[region] tanh(x); }";
  for (const Mistake& c : {
           Mistake{"let y = #[region(in = ((4, 2), auto))] block(x, 3);", kBlock, "E0320", "tensor 0 is f32[8, 6]"},
           Mistake{"let y = #[region(in = ((4)))] block(x, 3);", kBlock, "E0320", "this is f32[8, 6]"},
           Mistake{"let y = #[region(out = (4))] block(x, 3);", kBlock, "E0320", "but the result has 2"},
           Mistake{"let y = #[region(out = ((4, 1), (4, 1)))] block(x, 3);", kBlock, "E0320", "has 1 result"},
           Mistake{"let (y, _z) = #[region(out = (4, 1))] pair(x);", kPair, "E0320",
                   "`out` has 1 entry, but the call has 2 results"},
           Mistake{"let (y, _z) = #[region(out = data_parallel)] pair(x);", kPair, "E0320", "has 1 entry"},
           Mistake{"let (y, _z) = #[region(out = (auto, auto, auto))] pair(x);", kPair, "E0320", "has 3 entries"},
           Mistake{"let (y, _z) = #[region(out = (auto, (4)))] pair(x);", kPair, "E0320", "but result 1 has 2"},
           Mistake{"let y = #[region(params = { \"h.weigth\": (8, 1) })] block(x, 3);", kBlock, "E0321", "`h.weight`"},
           Mistake{"let y = #[region(params = { \"h.weight\": (8) })] block(x, 3);", kBlock, "E0320", "f32[12, 6]"},
           Mistake{"let y = #[region(params = { \"bias\": (1), \"bias\": (1) })] block(x, 3);", kBlock, "E0321",
                   "twice"},
           Mistake{"let y = #[region(params = { \"w\": (1) })] tanh(x);", "", "E0321", "makes no parameter"},
           Mistake{
               "let y = #[region(params = { \"bias\": (1) })] block(x, 3);",
               "fn block(x: f32[n, k], _units: int) -> f32[n, k] { #[replicate] param bias: f32[k] = zeros(); return "
               "bias_add(x, bias); }",
               "E0321", "two pins"},
           Mistake{"let y = #[region] outer(x);", nested.c_str(), "E0322", "the outer one"},
           Mistake{"#[region] let y = #[region] tanh(x);", "", "E0322", "the outer one"},
           Mistake{"#[region] #[region] let y = tanh(x);", "", "E0322", "two regions"},
           Mistake{"let y = vmap(row)(x);", mapped.c_str(), "E0322", "vmap"},
           Mistake{"let y = #[region] x;", "", "E0305", "no call"},
           Mistake{"let y = #[region] (x + x);", "", "E0305", "no call"},
           Mistake{"#[region] param w: f32[6, 6] = zeros(); let y = matmul(x, w);", "", "E0305", "no call"},
           Mistake{"let y = #[region(6)] tanh(x);", "", "E0303", "have names"},
           Mistake{"let y = #[region(inn = auto)] tanh(x);", "", "E0303", "did you mean `in`"},
           Mistake{"let y = #[region(in = auto, in = auto)] tanh(x);", "", "E0303", "given twice"},
           Mistake{"let y = #[region(objective = 3)] tanh(x);", "", "E0303", "levels 0, 1 and 2"},
           Mistake{"let y = #[region(objective = fast)] tanh(x);", "", "E0303", "`speed`"},
           Mistake{"let y = #[region(device = npu)] tanh(x);", "", "E0303", "`gpu`"},
           Mistake{"let y = #[region(in = (0, 1))] tanh(x);", "", "E0303", "tuple"},
           Mistake{"let y = #[region(params = (1))] tanh(x);", "", "E0303", "map"},
           Mistake{"let y = #[region(out = 3)] tanh(x);", "", "E0303", "layout of the result"},
       }) {
    const Analyzed analyzed = AnalyzeBody(std::string(c.body) + " loss reduce_mean(y);", c.rest);
    EXPECT_FALSE(analyzed.module.has_value()) << c.body;
    EXPECT_NE(analyzed.messages.find(c.code), std::string::npos) << c.body << "\n" << analyzed.messages;
    EXPECT_NE(analyzed.messages.find(c.text), std::string::npos) << c.body << "\n" << analyzed.messages;
  }
}

TEST(RegionsTest, LenientPlansPassOverWhatCannotBePinned) {
  const Analyzed lenient = AnalyzeBody(
      "let y = #[region(params = { \"bias\": (1), \"b\": (1), \"w\": (1, 2), \"w\": (2, 1) })] block(x);"
      " loss reduce_mean(y);",
      "fn block(x: f32[n, k]) -> f32[n, k] { #[replicate] param bias: f32[k] = zeros(); param w: f32[k, k] = zeros();"
      " return bias_add(matmul(x, w), bias); } parallel { parameter_plan = lenient; }");
  ASSERT_TRUE(lenient.module.has_value()) << lenient.messages;
  for (const char* const said : {"`y.bias` has a pin already", "has no parameter `b`", "`w` is named twice"}) {
    EXPECT_NE(lenient.messages.find(said), std::string::npos) << lenient.messages;
  }
  int pins = 0;
  for (const ir::Pin& pin : lenient.module->pins.pins) {
    const std::string& name = lenient.module->graph.op(pin.op).name;
    if (name == "y.bias") EXPECT_TRUE(std::holds_alternative<ir::ReplicatePin>(pin.demand));
    if (name != "y.w") continue;
    ++pins;
    EXPECT_EQ((*std::get<ir::ShardPin>(pin.demand).out)[1].value, 2);
  }
  EXPECT_EQ(pins, 1);
}

TEST(RegionsTest, PinsByNameMeetThoseOfTheRegion) {
  const std::string body = "let y = #[region(params = { \"weight\": (2, 1) })] dense(x, 4); loss reduce_mean(y);";
  const Analyzed twice = AnalyzeBody(body, "parallel { pin \"y.weight\" = layout(\"m0\", _); }");
  EXPECT_NE(twice.messages.find("E0321"), std::string::npos) << twice.messages;
  const Analyzed other = AnalyzeBody(body, "parallel { pin \"y.out\" = layout(\"m0\", _); }");
  EXPECT_NE(other.messages.find("E0307"), std::string::npos) << other.messages;
}

TEST(RegionsTest, OutsideBelongsToModelsWithRegions) {
  const Analyzed analyzed = AnalyzeBody("let y = tanh(x); loss reduce_mean(y);", "parallel { outside = search; }");
  EXPECT_NE(analyzed.messages.find("E0323"), std::string::npos) << analyzed.messages;
}

}  // namespace
}  // namespace cleave::frontend
