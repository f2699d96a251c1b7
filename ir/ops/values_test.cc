// Values of every op against results worked out by hand.

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/ops/inference.h"
#include "ir/ops/ops.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;
using Attribute = std::map<std::string, AttributeValue>;

struct Case {
  std::string op;
  std::vector<Tensor> inputs;
  Attribute attributes;
  Tensor expected;
  int64_t step = 1;
};

Tensor T(Shape shape, std::vector<double> values) { return {.shape = std::move(shape), .values = std::move(values)}; }

// Inputs that are i32, by op and index.
bool IsInteger(const std::string& op, size_t input) {
  static const std::set<std::pair<std::string, size_t>> integers = {{"embedding", 0},
                                                                    {"max_pool_gradient", 1},
                                                                    {"embedding_gradient", 1},
                                                                    {"one_hot", 0},
                                                                    {"gather", 1},
                                                                    {"scatter_add", 1},
                                                                    {"accuracy", 1},
                                                                    {"cross_entropy_gradient", 1},
                                                                    {"cross_entropy", 1},
                                                                    {"label_loss", 1},
                                                                    {"label_loss_gradient", 1},
                                                                    {"share_of_equal", 0},
                                                                    {"share_of_equal", 1},
                                                                    {"top_k_merge", 1},
                                                                    {"top_k_gradient", 1}};
  return integers.count({op, input}) > 0;
}

Tensor ValueOf(const Case& item) {
  const OpDefinition& op = *FindOp(item.op);
  Attributes attributes{.values = item.attributes};
  const auto error = CompleteAttributes(op, item.inputs.size(), attributes);
  EXPECT_FALSE(error.has_value()) << item.op << ": " << error->message;
  std::vector<TensorType> types;
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < item.inputs.size(); ++i) {
    types.push_back({IsInteger(item.op, i) ? DType::kI32 : DType::kF32, item.inputs[i].shape});
    inputs.push_back(&item.inputs[i]);
  }
  const InferResult result = op.infer(types, attributes);
  EXPECT_TRUE(std::holds_alternative<TensorType>(result)) << item.op << ": " << std::get<OpError>(result).message;
  const TensorType& type = std::get<TensorType>(result);
  Tensor output = Zeros(type.shape);
  const std::vector<FactorRange> ranges = WholeRanges(op.rule(types, type, attributes));
  op.evaluate({.attributes = attributes, .inputs = inputs, .ranges = ranges, .output = output, .step = item.step});
  return output;
}

void Check(const std::vector<Case>& cases) {
  for (const Case& item : cases) {
    const Tensor actual = ValueOf(item);
    ASSERT_EQ(actual.shape, item.expected.shape) << item.op;
    for (size_t i = 0; i < actual.values.size(); ++i) {
      EXPECT_NEAR(actual.values[i], item.expected.values[i], 1e-6) << item.op << ", element " << i;
    }
  }
}

TEST(ValuesTest, Elementwise) {
  const Tensor x = T({3}, {-2, 0, 1});
  const Tensor positive = T({2}, {1, 4});
  Check({{"neg", {x}, {}, T({3}, {2, 0, -1})},
         {"exp", {x}, {}, T({3}, {0.1353352832, 1, 2.7182818285})},
         {"log", {positive}, {}, T({2}, {0, 1.3862943611})},
         {"sqrt", {positive}, {}, T({2}, {1, 2})},
         {"rsqrt", {positive}, {}, T({2}, {1, 0.5})},
         {"tanh", {x}, {}, T({3}, {-0.9640275801, 0, 0.7615941560})},
         {"sigmoid", {x}, {}, T({3}, {0.1192029220, 0.5, 0.7310585786})},
         {"relu", {x}, {}, T({3}, {0, 0, 1})},
         {"gelu", {x}, {}, T({3}, {-0.0454023059, 0, 0.8411919906})},
         {"abs", {x}, {}, T({3}, {2, 0, 1})},
         {"square", {x}, {}, T({3}, {4, 0, 1})},
         {"sign", {x}, {}, T({3}, {-1, 0, 1})},
         {"scale", {x}, {{"factor", 0.5}}, T({3}, {-1, 0, 0.5})},
         {"cast", {T({3}, {-1.7, 0.9, 2})}, {{"dtype", std::string("i32")}}, T({3}, {-1, 0, 2})},
         {"erf", {x}, {}, T({3}, {-0.9953222650, 0, 0.8427007929})},
         {"sin", {x}, {}, T({3}, {-0.9092974268, 0, 0.8414709848})},
         {"cos", {x}, {}, T({3}, {-0.4161468365, 1, 0.5403023059})},
         {"silu", {x}, {}, T({3}, {-0.2384058440, 0, 0.7310585786})},
         {"softplus", {T({4}, {-800, 0, 1, 800})}, {}, T({4}, {0, 0.6931471806, 1.3132616875, 800})},
         {"leaky_relu", {x}, {}, T({3}, {-0.02, 0, 1})},
         {"leaky_relu", {x}, {{"slope", -1.0}}, T({3}, {2, 0, 1})},
         {"clamp", {x}, {{"low", -1.0}, {"high", 0.25}}, T({3}, {-1, 0, 0.25})},
         {"power", {x}, {{"exponent", 3.0}}, T({3}, {-8, 0, 1})},
         {"power", {positive}, {{"exponent", -1.5}}, T({2}, {1, 0.125})},
         {"print", {x}, {}, x},
         {"assert_finite", {x}, {}, x}});
}

TEST(ValuesTest, NotANumberStaysOne) {
  const Tensor nan = T({1}, {std::numeric_limits<double>::quiet_NaN()});
  const Tensor one = T({1}, {1});
  for (const Case& item : std::vector<Case>{{"relu", {nan}, {}, nan},
                                            {"leaky_relu", {nan}, {}, nan},
                                            {"clamp", {nan}, {{"low", 0.0}, {"high", 1.0}}, nan},
                                            {"maximum", {nan, one}, {}, nan},
                                            {"maximum", {one, nan}, {}, nan},
                                            {"minimum", {nan, one}, {}, nan},
                                            {"minimum", {one, nan}, {}, nan}}) {
    EXPECT_TRUE(std::isnan(ValueOf(item).values[0])) << item.op;
  }
}

TEST(ValuesTest, ComparisonsAndChoices) {
  const Tensor x = T({3}, {1, 2, 3});
  const Tensor two = T({}, {2});
  Check({{"equal", {x, two}, {}, T({3}, {0, 1, 0})},
         {"not_equal", {x, two}, {}, T({3}, {1, 0, 1})},
         {"less", {x, two}, {}, T({3}, {1, 0, 0})},
         {"less_equal", {x, two}, {}, T({3}, {1, 1, 0})},
         {"greater", {x, two}, {}, T({3}, {0, 0, 1})},
         {"greater_equal", {x, two}, {}, T({3}, {0, 1, 1})},
         {"maximum", {x, two}, {}, T({3}, {2, 2, 3})},
         {"minimum", {x, two}, {}, T({3}, {1, 2, 2})},
         {"pow", {x, T({2, 1}, {2, -1})}, {}, T({2, 3}, {1, 4, 9, 1, 0.5, 1.0 / 3})},
         {"where", {T({3}, {1, 0, -2}), x, T({2, 1}, {7, 8})}, {}, T({2, 3}, {1, 7, 3, 1, 8, 3})}});
}

TEST(ValuesTest, Broadcasting) {
  const Tensor matrix = T({2, 3}, {1, 2, 3, 4, 5, 6});
  Check({{"add", {matrix, T({3}, {10, 20, 30})}, {}, T({2, 3}, {11, 22, 33, 14, 25, 36})},
         {"sub", {matrix, T({2, 1}, {1, 2})}, {}, T({2, 3}, {0, 1, 2, 2, 3, 4})},
         {"mul", {T({2, 1}, {1, 2}), T({3}, {1, 2, 3})}, {}, T({2, 3}, {1, 2, 3, 2, 4, 6})},
         {"div", {matrix, T({}, {2})}, {}, T({2, 3}, {0.5, 1, 1.5, 2, 2.5, 3})},
         {"bias_add", {matrix, T({3}, {1, 1, 0})}, {}, T({2, 3}, {2, 3, 3, 5, 6, 6})},
         {"broadcast_to", {T({2, 1}, {7, 8})}, {{"shape", Ints{2, 2}}}, T({2, 2}, {7, 7, 8, 8})}});
}

TEST(ValuesTest, ElementwiseGradients) {
  const Tensor dy = T({2}, {10, 10});
  const Tensor y = T({2}, {0.5, 0});
  Check({{"relu_gradient", {dy, y}, {}, T({2}, {10, 0})},
         {"tanh_gradient", {dy, y}, {}, T({2}, {7.5, 10})},
         {"sigmoid_gradient", {dy, y}, {}, T({2}, {2.5, 0})},
         {"gelu_gradient", {dy, T({2}, {0, 100})}, {}, T({2}, {5, 10})},
         {"leaky_relu_gradient", {dy, y}, {{"slope", 0.1}}, T({2}, {10, 1})},
         {"mse_gradient", {T({2}, {3, 1}), T({2}, {1, 2}), T({}, {1})}, {}, T({2}, {2, -1})},
         {"mae_gradient", {T({2}, {3, 1}), T({2}, {1, 2}), T({}, {4})}, {}, T({2}, {2, -2})}});
}

TEST(ValuesTest, Products) {
  const Tensor a = T({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor a_stored = T({3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor b = T({3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor b_stored = T({2, 3}, {1, 0, 1, 0, 1, 1});
  const Tensor c = T({2, 2}, {4, 5, 10, 11});
  Check({{"matmul", {a, b}, {}, c},
         {"matmul", {a_stored, b}, {{"transpose_a", true}}, c},
         {"matmul", {a, b_stored}, {{"transpose_b", true}}, c},
         {"matmul", {a_stored, b_stored}, {{"transpose_a", true}, {"transpose_b", true}}, c},
         {"matmul", {T({2, 1, 2}, {1, 2, 3, 4}), T({2, 1}, {1, 10})}, {}, T({2, 1, 1}, {21, 43})},
         {"matmul", {T({2, 1, 2}, {1, 2, 3, 4}), T({2, 2, 1}, {1, 10, 1, 0})}, {}, T({2, 1, 1}, {21, 3})},
         {"matmul_sum", {T({2, 1, 2}, {1, 2, 3, 4}), T({2, 1, 1}, {1, 10})}, {}, T({2, 1}, {31, 42})}});
}

TEST(ValuesTest, Einsums) {
  const Tensor a = T({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor v = T({3}, {1, 0, 2});
  const Tensor square = T({2, 2}, {1, 2, 3, 4});
  const auto equation = [](const char* text) { return Attribute{{"equation", std::string(text)}}; };
  Check({{"einsum", {a, v}, equation("ik,k->i"), T({2}, {7, 16})},
         {"einsum", {a, T({3, 2}, {1, 0, 0, 1, 1, 1})}, equation("i k, k j -> j i"), T({2, 2}, {4, 10, 5, 11})},
         {"einsum", {a}, equation("ij->ji"), T({3, 2}, {1, 4, 2, 5, 3, 6})},
         {"einsum", {a}, equation("rows columns ->"), T({}, {21})},
         {"einsum", {T({2}, {1, 2}), v, a}, equation("i,k,ik->k"), T({3}, {9, 0, 30})},
         {"einsum", {square}, equation("ii->"), T({}, {5})},
         {"einsum", {square}, equation("ii->i"), T({2}, {1, 4})},
         {"einsum", {v}, equation("i->ii"), T({3, 3}, {1, 0, 0, 0, 0, 0, 0, 0, 2})}});
}

TEST(ValuesTest, Reductions) {
  const Tensor x = T({2, 3}, {1, 5, 3, -4, -2, -6});
  Check({{"reduce_sum", {x}, {}, T({}, {-3})},
         {"reduce_sum", {x}, {{"axes", Ints{0}}}, T({3}, {-3, 3, -3})},
         {"reduce_mean", {x}, {{"axes", Ints{-1}}, {"keep_dims", true}}, T({2, 1}, {3, -4})},
         {"reduce_max", {x}, {{"axes", Ints{1}}}, T({2}, {5, -2})},
         {"reduce_max", {x}, {{"axes", Ints{0, 1}}}, T({}, {5})},
         {"reduce_min", {x}, {{"axes", Ints{1}}}, T({2}, {1, -6})},
         {"reduce_min", {x}, {{"axes", Ints{0}}, {"keep_dims", true}}, T({1, 3}, {-4, -2, -6})}});
}

TEST(ValuesTest, Rows) {
  const double e = std::exp(1.0);
  const Tensor x = T({2, 2}, {0, 1, 1000, 1000});
  const double p = 1 / (1 + e);
  Check({{"softmax", {x}, {}, T({2, 2}, {p, 1 - p, 0.5, 0.5})},
         {"log_softmax", {x}, {}, T({2, 2}, {std::log(p), std::log(1 - p), std::log(0.5), std::log(0.5)})},
         {"softmax_gradient", {T({1, 2}, {1, 0}), T({1, 2}, {0.25, 0.75})}, {}, T({1, 2}, {0.1875, -0.1875})},
         {"log_softmax_gradient",
          {T({1, 2}, {1, 1}), T({1, 2}, {std::log(0.25), std::log(0.75)})},
          {},
          T({1, 2}, {0.5, -0.5})},
         // Mean 2, variance 1.
         {"layer_norm",
          {T({1, 2}, {1, 3}), T({2}, {10, 100}), T({2}, {1, 2})},
          {{"epsilon", 1e-12}},
          T({1, 2}, {-9, 102})},
         {"layer_norm_gradient_scale",
          {T({2, 2}, {1, 1, 5, 7}), T({2, 2}, {1, 3, 3, 1})},
          {{"epsilon", 1e-12}},
          T({2}, {4, -6})},
         // Two elements are always normalized to -1 and 1.
         {"layer_norm_gradient_input",
          {T({1, 2}, {1, 5}), T({1, 2}, {1, 3}), T({2}, {1, 1})},
          {{"epsilon", 1e-12}},
          T({1, 2}, {0, 0})},
         {"causal_mask", {T({2, 3}, {1, 2, 3, 4, 5, 6})}, {{"fill", -9.0}}, T({2, 3}, {1, -9, -9, 4, 5, -9})}});
}

TEST(ValuesTest, Losses) {
  const Tensor logits = T({2, 2}, {0, 0, std::log(3.0), 0});
  const Tensor label = T({2}, {1, 0});
  const double first = std::log(2.0);
  const double second = std::log(4.0 / 3.0);
  Check({{"cross_entropy", {logits, label}, {}, T({}, {(first + second) / 2})},
         {"cross_entropy", {logits, label, T({2}, {0, 1})}, {}, T({}, {second / 2})},
         {"cross_entropy", {logits, T({2}, {1, 7})}, {}, T({}, {first / 2})},
         {"cross_entropy_gradient", {logits, label, T({}, {2})}, {}, T({2, 2}, {0.5, -0.5, -0.25, 0.25})},
         // The first of equal logits counts.
         {"accuracy", {logits, label}, {}, T({}, {0.5})},
         {"accuracy", {logits, T({2}, {0, 0}), T({2}, {1, 0})}, {}, T({}, {0.5})},
         {"mse", {T({2, 1}, {1, 5}), T({2, 1}, {0, 2})}, {}, T({}, {5})},
         {"mse", {T({2, 1}, {1, 5}), T({2, 1}, {0, 2}), T({2}, {1, 0})}, {}, T({}, {0.5})},
         {"huber", {T({2}, {3, 1}), T({2}, {1, 1.5})}, {}, T({}, {(1.5 + 0.125) / 2})},
         {"huber", {T({2}, {3, 1}), T({2}, {1, 2}), T({2}, {1, 0})}, {{"delta", 0.5}}, T({}, {0.875 / 2})},
         {"bce_with_logits", {T({2}, {0, 1000}), T({2}, {0.25, 0})}, {}, T({}, {(0.6931471806 + 1000) / 2})},
         {"mae", {T({2, 1}, {1, 5}), T({2, 1}, {0, 2})}, {}, T({}, {2})}});
}

TEST(ValuesTest, Rankings) {
  const Tensor x = T({2, 4}, {1, 7, 7, 3, -1, -4, -2, -1});
  const double none = 2147483647;
  const double least = -std::numeric_limits<double>::infinity();
  const Tensor candidates = ValueOf({"top_k_candidates",
                                     {T({1, 5}, {4, 1, 3, 9, 2})},
                                     {{"k", int64_t{2}}, {"pieces", int64_t{3}}, {"elements", int64_t{5}}},
                                     x});
  EXPECT_EQ(candidates, T({1, 6}, {4, least, 3, 1, 9, 2}));
  Check({{"argmax", {x}, {}, T({2}, {1, 0})},
         {"argmax", {x}, {{"axis", int64_t{0}}}, T({4}, {0, 0, 0, 0})},
         {"first_equal", {x, T({2, 1}, {7, 5})}, {}, T({2}, {1, none})},
         {"top_k", {x}, {{"k", int64_t{3}}}, T({2, 3}, {7, 7, 3, -1, -1, -2})},
         {"top_k_indices", {x}, {{"k", int64_t{3}}}, T({2, 3}, {1, 2, 3, 0, 3, 2})},
         {"top_k_candidate_indices",
          {T({1, 5}, {4, 1, 3, 9, 2})},
          {{"k", int64_t{2}}, {"pieces", int64_t{3}}, {"elements", int64_t{5}}},
          T({1, 6}, {0, none, 2, 1, 3, 4})},
         {"top_k_merge",
          {T({1, 4}, {5, least, 5, 6}), T({1, 4}, {3, none, 1, 8})},
          {{"k", int64_t{3}}},
          T({1, 3}, {8, 1, 3})},
         {"top_k_gradient",
          {T({1, 2}, {10, 20}), T({1, 2}, {2, 0})},
          {{"elements", int64_t{3}}},
          T({1, 3}, {20, 0, 10})}});
}

TEST(ValuesTest, LossesOfKnownSums) {
  const Tensor logits = T({2, 2}, {1, 2, 3, 4});
  const Tensor log_sum = T({2, 1}, {5, 6});
  const double e = std::exp(-2.0);
  Check({{"label_loss", {logits, T({2}, {1, 0}), log_sum}, {}, T({}, {3})},
         {"label_loss", {logits, T({2}, {1, 9}), log_sum}, {}, T({}, {1.5})},
         {"label_loss", {logits, T({2}, {1, 0}), log_sum, T({2}, {0, 1})}, {}, T({}, {1.5})},
         {"label_loss_gradient",
          {logits, T({2}, {9, 1}), log_sum, T({}, {2})},
          {},
          T({2, 2}, {0, 0, std::exp(-3.0), e - 1})},
         {"share_of_equal", {T({2}, {1, 0}), T({2}, {1, 1})}, {}, T({}, {0.5})}});
}

// Those of rank 0, and of the last rank.
TEST(ValuesTest, OfOneRank) {
  const auto on = [](int rank, const std::string& op, const std::vector<Tensor>& inputs, const Attribute& values) {
    const OpDefinition& definition = *FindOp(op);
    const Attributes attributes{.values = values};
    std::vector<TensorType> types;
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) {
      types.push_back({DType::kF32, input.shape});
      pointers.push_back(&input);
    }
    const TensorType type = std::get<TensorType>(definition.infer(types, attributes));
    Tensor output = Zeros(type.shape);
    const std::vector<FactorRange> ranges = WholeRanges(definition.rule(types, type, attributes));
    definition.evaluate(
        {.attributes = attributes, .inputs = pointers, .ranges = ranges, .output = output, .rank = rank});
    return output;
  };
  const Tensor x = T({2, 3}, {1, 2, 3, 4, 5, 6});
  const Attribute columns = {{"axis", int64_t{1}}, {"size", int64_t{2}}, {"starts", Ints{0, 1}}};
  EXPECT_EQ(on(0, "rank_slice", {x}, columns), T({2, 2}, {1, 2, 4, 5}));
  EXPECT_EQ(on(1, "rank_slice", {x}, columns), T({2, 2}, {2, 3, 5, 6}));
  const Attribute rows = {{"axis", int64_t{0}}, {"size", int64_t{3}}, {"starts", Ints{0, 1}}};
  EXPECT_EQ(on(0, "rank_pad", {x}, rows), T({3, 3}, {1, 2, 3, 4, 5, 6, 0, 0, 0}));
  EXPECT_EQ(on(1, "rank_pad", {x}, rows), T({3, 3}, {0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(on(1, "rank_value", {}, {{"values", std::vector<double>{0.5, -2}}}), T({}, {-2}));
}

TEST(ValuesTest, Movements) {
  const Tensor x = T({2, 3}, {1, 2, 3, 4, 5, 6});
  Check(
      {{"reshape", {x}, {{"shape", Ints{3, -1}}}, T({3, 2}, {1, 2, 3, 4, 5, 6})},
       {"identity", {T({2, 2}, {1, 2, 3, 4})}, {}, T({2, 2}, {1, 2, 3, 4})},
       {"flatten", {T({1, 2, 2}, {1, 2, 3, 4})}, {}, T({1, 4}, {1, 2, 3, 4})},
       {"transpose", {x}, {}, T({3, 2}, {1, 4, 2, 5, 3, 6})},
       {"transpose", {T({1, 2, 2}, {1, 2, 3, 4})}, {{"permutation", Ints{1, 2, 0}}}, T({2, 2, 1}, {1, 2, 3, 4})},
       {"slice", {x}, {{"begin", Ints{0, 1}}, {"end", Ints{2, 3}}}, T({2, 2}, {2, 3, 5, 6})},
       {"pad", {T({1, 2}, {7, 8})}, {{"before", Ints{1, 0}}, {"after", Ints{0, 1}}}, T({2, 3}, {0, 0, 0, 7, 8, 0})},
       {"cumsum", {x}, {{"axis", int64_t{1}}}, T({2, 3}, {1, 3, 6, 4, 9, 15})},
       {"cumsum", {x}, {{"axis", int64_t{-2}}, {"reverse", true}}, T({2, 3}, {5, 7, 9, 4, 5, 6})},
       {"concat", {x, T({2, 1}, {8, 9})}, {{"axis", int64_t{-1}}}, T({2, 4}, {1, 2, 3, 8, 4, 5, 6, 9})},
       {"embedding", {T({3}, {1, 0, 5}), T({2, 2}, {1, 2, 3, 4})}, {}, T({3, 2}, {3, 4, 1, 2, 0, 0})},
       {"embedding_gradient", {T({3, 1}, {1, 2, 4}), T({3}, {1, 0, 1})}, {{"rows", int64_t{3}}}, T({3, 1}, {2, 5, 0})},
       {"gather", {x, T({2, 2}, {2, 0, 7, 1})}, {{"axis", int64_t{1}}}, T({2, 2, 2}, {3, 1, 0, 2, 6, 4, 0, 5})},
       {"gather", {x, T({}, {1})}, {}, T({3}, {4, 5, 6})},
       {"scatter_add", {x, T({3}, {1, 1, -4})}, {{"size", int64_t{2}}, {"axis", int64_t{-1}}}, T({2, 2}, {0, 3, 0, 9})},
       {"one_hot", {T({3}, {1, 0, 9})}, {{"depth", int64_t{2}}}, T({3, 2}, {0, 1, 1, 0, 0, 0})}});
}

TEST(ValuesTest, Sources) {
  Check({{"constant", {}, {{"value", 2.0}, {"shape", Ints{2}}}, T({2}, {2, 2})},
         {"step_scalar", {}, {{"form", std::string("bias_correction")}, {"beta", 0.9}}, T({}, {1 / 0.19}), 2},
         {"step_scalar",
          {},
          {{"form", std::string("learning_rate")},
           {"schedule", std::string("linear_warmup")},
           {"rate", 0.4},
           {"warmup_steps", int64_t{4}}},
          T({}, {0.3}),
          3}});
}

// Worked out for a head of 4: the second pair turns 100 times slower than the first.
TEST(ValuesTest, Rope) {
  const double c = std::cos(1.0), s = std::sin(1.0), slow_c = std::cos(0.01), slow_s = std::sin(0.01);
  const Tensor x = T({2, 4}, {1, 2, 3, 4, 1, 2, 3, 4});
  const Tensor turned = T({2, 4}, {1, 2, 3, 4, c - 3 * s, 2 * slow_c - 4 * slow_s, 3 * c + s, 4 * slow_c + 2 * slow_s});
  Check({{"rope", {x}, {}, turned}, {"rope", {turned}, {{"inverse", true}}, x}});
}

// The share of ten thousand draws; elements, steps and keys draw for themselves.
TEST(ValuesTest, Dropout) {
  const Tensor x = T({10000}, std::vector<double>(10000, 3));
  const auto draw = [&](const std::string& key, int64_t step) {
    return ValueOf({"dropout", {x}, {{"rate", 0.25}, {"key", key}}, x, step});
  };
  const Tensor first = draw("a", 1);
  int dropped = 0;
  for (double value : first.values) {
    EXPECT_TRUE(value == 0 || value == 4) << value;
    dropped += value == 0 ? 1 : 0;
  }
  EXPECT_NEAR(dropped, 2500, 130);  // Three deviations.
  EXPECT_EQ(first, draw("a", 1));
  EXPECT_NE(first, draw("a", 2));
  EXPECT_NE(first, draw("b", 1));
  EXPECT_EQ(draw("a", 0), x);
}

// One rank's part of an op whose meaning depends on its place.
TEST(ValuesTest, Places) {
  const OpDefinition& mask = *FindOp("causal_mask");
  const Attributes attributes{{{"fill", -9.0}}};
  const Tensor piece = T({1, 2}, {1, 2});
  Tensor output = Zeros({1, 2});
  const std::vector<FactorRange> ranges = {{.begin = 1, .size = 1, .global = 3}, {.begin = 1, .size = 2, .global = 3}};
  const std::vector<const Tensor*> inputs = {&piece};
  mask.evaluate({.attributes = attributes, .inputs = inputs, .ranges = ranges, .output = output});
  EXPECT_EQ(output, T({1, 2}, {1, -9}));
}

TEST(ValuesTest, Convolution) {
  const Tensor x = T({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor filter = T({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor dy = T({1, 1, 2, 2}, {1, 2, 3, 4});
  Check({{"conv2d", {x, filter}, {}, T({1, 1, 2, 2}, {37, 47, 67, 77})},
         {"conv2d", {x, filter}, {{"stride", Ints{2}}, {"padding", Ints{1}}}, T({1, 1, 2, 2}, {4, 18, 36, 77})},
         {"conv2d", {x, filter}, {{"dilation", Ints{2, 2}}}, T({1, 1, 1, 1}, {64})},
         {"conv2d",
          {T({1, 2, 1, 2}, {1, 2, 3, 4}), T({2, 1, 1, 1}, {10, 100})},
          {{"groups", int64_t{2}}},
          T({1, 2, 1, 2}, {10, 20, 300, 400})},
         {"conv2d_gradient_input",
          {dy, filter},
          {{"size", Ints{3, 3}}},
          T({1, 1, 3, 3}, {1, 4, 4, 6, 20, 16, 9, 24, 16})},
         {"conv2d_gradient_filter", {dy, x}, {{"kernel", Ints{2, 2}}}, T({1, 1, 2, 2}, {37, 47, 67, 77})}});
}

TEST(ValuesTest, Pooling) {
  const Tensor x = T({1, 1, 2, 4}, {1, 5, 2, 2, 3, 4, 9, 9});
  const Tensor four = T({1, 1, 2, 2}, {4, 8, 12, 16});
  const Attribute kernel = {{"kernel", Ints{2}}};
  Attribute padded = {{"kernel", Ints{2}}, {"padding", Ints{1}}};
  Check({{"max_pool", {x}, kernel, T({1, 1, 1, 2}, {5, 9})},
         {"max_pool_index", {x}, kernel, T({1, 1, 1, 2}, {1, 2})},
         {"max_pool", {four}, padded, four},
         {"max_pool_index", {four}, padded, T({1, 1, 2, 2}, {3, 2, 1, 0})},
         {"avg_pool", {x}, kernel, T({1, 1, 1, 2}, {3.25, 5.5})},
         {"avg_pool", {four}, padded, T({1, 1, 2, 2}, {1, 2, 3, 4})}});
  Attribute sized = kernel;
  sized["size"] = Ints{2, 4};
  padded["size"] = Ints{2, 2};
  const Tensor dy = T({1, 1, 1, 2}, {10, 20});
  Check({{"max_pool_gradient", {dy, T({1, 1, 1, 2}, {1, 2})}, sized, T({1, 1, 2, 4}, {0, 10, 0, 0, 0, 0, 20, 0})},
         {"avg_pool_gradient", {dy}, sized, T({1, 1, 2, 4}, {2.5, 2.5, 5, 5, 2.5, 2.5, 5, 5})},
         {"avg_pool_gradient", {four}, padded, T({1, 1, 2, 2}, {1, 2, 3, 4})}});
}

}  // namespace
}  // namespace cleave
