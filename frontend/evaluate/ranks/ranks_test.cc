// Tests calls of primitives: the ops that they become, and the arguments that are refused.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/evaluate/frame/testing.h"
#include "frontend/evaluate/ranks/manual_model.h"
#include "frontend/evaluate/ranks/primitive_call.h"

namespace cleave::frontend {
namespace {

Value Ranks(const std::vector<int64_t>& numbers) {
  std::vector<Value> ranks;
  for (const int64_t number : numbers) ranks.emplace_back().kind = number;
  return *PerRank(std::move(ranks));
}

// `call` on four ranks. `expected`: the ops that it makes, one per line; its value if it makes none; or the mistake.
void CheckPrimitive(const std::string& call, const std::string& expected, bool is_mapped = false) {
  TestBench bench(LetText(call), {{"dp", 2}, {"tp", 2}});
  bench.DefineTensor("x", {ir::DType::kF32, {8, 6}});
  bench.DefineTensor("image", {ir::DType::kF32, {2, 1, 4, 6}});
  bench.Define("rank", Ranks({0, 1, 2, 3}));
  bench.Define("next", Ranks({1, 2, 3, 0}));
  bench.Define("before", Ranks({3, 0, 1, 2}));
  bench.Define("up", Ranks({-1, 0, 1, 2}));
  bench.Define("down", Ranks({1, 2, 3, -1}));
  bench.Define("dp", Value{GroupValue{ir::RankAxisSet{1}}});
  const std::string name = std::get<dsl::syntax::Name>(bench.call().call.callee->kind).text;
  Messages messages;
  const Value value = CallPrimitive(*FindPrimitive(name), bench.call(), {.name = Span(), .attribute = Span()},
                                    is_mapped, messages, bench.context);
  const std::string made = bench.OpsText().empty() ? bench.TextOf(value) : bench.OpsText();
  EXPECT_EQ(value.is_poison() ? bench.Messages() : made, expected) << call;
}

TEST(CollectivesTest, BecomeOps) {
  CheckPrimitive("all_reduce(x)", "all_reduce(x): f32[8, 6]");
  CheckPrimitive("all_reduce(x, max, group = dp)", "all_reduce(x): f32[8, 6]");
  CheckPrimitive("all_reduce(x, mean)", "all_reduce(x): f32[8, 6]\nscale(all_reduce): f32[8, 6]");
  CheckPrimitive("all_gather(x)", "all_gather(x): f32[32, 6]");
  CheckPrimitive("all_gather(x, axis = 1, group = dp)", "all_gather(x): f32[8, 12]");
  CheckPrimitive("reduce_scatter(x, group = dp)", "reduce_scatter(x): f32[4, 6]");
  CheckPrimitive("all_to_all(x, split = 0, concat = 1, group = dp)", "all_to_all(x): f32[4, 12]");
  CheckPrimitive("broadcast(x, root = 3)", "broadcast(x): f32[8, 6]");
}

TEST(CollectivesTest, WrongArguments) {
  CheckPrimitive("all_reduce(3)", "E0204: argument `x` of `all_reduce` is a tensor");
  CheckPrimitive("all_reduce(x, total)", "E0204: unknown reduction");
  CheckPrimitive("all_reduce(x, group = 3)", "E0204: argument `group` is a group of ranks");
  CheckPrimitive("all_gather(x, axis = 2)", "E0404: axis 2 of a tensor with 2 dimensions");
  CheckPrimitive("all_gather(x, axis = rank)", "E0702: `axis` differs between ranks");
  CheckPrimitive("all_gather(x, axis = 0.5)", "E0204: argument `axis` is an int");
  CheckPrimitive("broadcast(x, root = 4)", "E0709: member 4 of a group of 4 ranks");
  CheckPrimitive("broadcast(x, root = rank)", "E0703: `root` differs between ranks");
  CheckPrimitive("send(x, to = 1)", "E0211: `send` is a statement");
}

TEST(CollectivesTest, Groups) {
  CheckPrimitive("group(\"dp\")", "group(dp)");
  CheckPrimitive("group(\"tp\", \"dp\")", "group(dp tp)");
  CheckPrimitive("group(\"pp\")", "E0310: unknown mesh axis `pp`");
  CheckPrimitive("group(\"dp\", \"dp\")", "E0308: mesh axis `dp` is used twice in one group");
  CheckPrimitive("group(3)", "E0204: a group names axes of the mesh");
  CheckPrimitive("size(dp)", "2");
  CheckPrimitive("index(dp)", "0 on rank 0, 1 on rank 2");
}

TEST(NeighborsTest, ExchangesAreOneOpOnVectors) {
  CheckPrimitive("neighbor_exchange((x,), send = (next,), receive = (before,))",
                 "reshape(x): f32[48]\nneighbor_exchange(reshape): f32[48]\nreshape_1(neighbor_exchange): f32[8, 6]");
  CheckPrimitive("neighbor_exchange((x,), send = (next,), receive = (up,))",
                 "E0704: rank 3 sends 48 elements to rank 0, which does not receive them");
  CheckPrimitive("neighbor_exchange((x,), send = (next,), receive = (before,), shapes = ((5,),))",
                 "E0704: rank 0 sends 48 elements to rank 1, which receives 5");
  CheckPrimitive("neighbor_exchange((x,), send = (next, up), receive = (before,))",
                 "E0204: `send` names a rank for each part");
  CheckPrimitive("neighbor_exchange((x,), send = (rank + 1,), receive = (before,))", "E0709: rank 4 of 4 ranks");
  CheckPrimitive("neighbor_exchange((x,), send = (next,), receive = (before,), shapes = ((0,),))",
                 "E0207: a dimension must be positive");
  CheckPrimitive("neighbor_exchange((x,), send = (next,), receive = (before,), shapes = (rank,))",
                 "E0702: a shape that differs between ranks");
  CheckPrimitive("neighbor_exchange(x, send = (next,), receive = (before,))",
                 "E0204: argument `x` of `neighbor_exchange` is a tuple of tensors");
}

TEST(HaloTest, BordersOfImages) {
  const std::string around = "(up, -1, -1, -1, down, -1, -1, -1)";
  const auto halo = [&](const std::string& x, const std::string& lengths) {
    return absl::StrCat("neighbor_exchange_v2(", x, ", send = ", around, ", receive = ", around,
                        ", lengths = ", lengths, ")");
  };
  CheckPrimitive(halo("x", "(1, 1, 0, 0)"), "E0408: `neighbor_exchange_v2` of a tensor that is not images");
  CheckPrimitive(halo("image", "(5, 0, 0, 0)"), "E0409: a border larger than the images");
  CheckPrimitive(halo("image", "(1, 1, 0)"), "E0204: `lengths` is four lengths: top, bottom, left and right");
  CheckPrimitive(halo("image", "(1, 1, 0, -1)"), "E0204: `lengths` is four lengths: top, bottom, left and right");
  CheckPrimitive(halo("image", "(rank, 1, 0, 0)"), "E0702: `lengths` differs between ranks");
  CheckPrimitive(halo("image", "(1, 1, 0, 0)"),
                 "slice(image): f32[2, 1, 1, 6]\nslice_1(image): f32[2, 1, 1, 6]\nreshape(slice): f32[12]\n"
                 "reshape_1(slice_1): f32[12]\nconcat(reshape, reshape_1): f32[24]\n"
                 "neighbor_exchange_v2(concat): f32[24]\nslice_2(neighbor_exchange_v2): f32[12]\n"
                 "reshape_2(slice_2): f32[2, 1, 1, 6]\nslice_3(neighbor_exchange_v2): f32[12]\n"
                 "reshape_3(slice_3): f32[2, 1, 1, 6]\nconcat_1(reshape_3, image, reshape_2): f32[2, 1, 6, 6]");
}

TEST(MessagesTest, NothingIsReceivedInsideOfAMap) {
  CheckPrimitive("recv((3,), from = -1)", "recv(): f32[3]");
  CheckPrimitive("recv((3,), from = -1, dtype = 3)",
                 "E0204: argument `dtype` of `recv` is an element type, `f32` or `i32`");
  CheckPrimitive("recv((3,), from = before)", "E0705: rank 0 waits for a message of rank 3, which sends none");
  CheckPrimitive("recv((3,), from = -1)", "E0216: `recv` inside of a function that `vmap` maps", true);
}

TEST(ManualModelTest, WordsThatNeedRanks) {
  const auto check = [](const std::string& name, const ManualModel& model, const std::vector<ir::RankAxis>& axes,
                        const std::string& expected) {
    TestBench bench(LetText("1"), axes);
    const auto value = RankName(name, Span(), model, bench.ops.graph(), bench.reporter);
    EXPECT_EQ(value ? bench.TextOf(*value) : "nothing", expected) << name;
  };
  const ManualModel manual{.name = Span(), .attribute = Span()};
  const ManualModel other{.name = Span(), .attribute = std::nullopt};
  check("world", manual, {{"dp", 2}, {"tp", 2}}, "4");
  check("rank", manual, {{"dp", 2}, {"tp", 2}}, "0 on rank 0, 1 on rank 1");
  check("rank", manual, {{"world", 1}}, "0");
  check("ranks", manual, {{"world", 2}}, "nothing");
  check("world", other, {}, "E0707: `world` outside a manual model");
  check("world", manual, {}, "E0707: `world` where the number of ranks is not known yet");
}

}  // namespace
}  // namespace cleave::frontend
