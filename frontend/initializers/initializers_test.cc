#include "frontend/initializers/initializers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cleave::frontend {
namespace {

TEST(InitializersTest, Constants) {
  EXPECT_EQ(Initialize("zeros", {}, {3}), (Initialization{"constant", 0, 0}));
  EXPECT_EQ(Initialize("ones", {}, {3}), (Initialization{"constant", 1, 0}));
  EXPECT_EQ(Initialize("constant", {0.5}, {3}), (Initialization{"constant", 0.5, 0}));
}

TEST(InitializersTest, Distributions) {
  EXPECT_EQ(Initialize("normal", {std::nullopt, std::nullopt}, {3}), (Initialization{"normal", 0, 1}));
  EXPECT_EQ(Initialize("normal", {1.0, 0.02}, {3}), (Initialization{"normal", 1, 0.02}));
  EXPECT_EQ(Initialize("uniform", {-1.0, std::nullopt}, {3}), (Initialization{"uniform", -1, 1}));
}

// torch.nn.init.kaiming_uniform_(w) with nonlinearity='relu', kaiming_normal_ and xavier_uniform_ have these bounds.
TEST(InitializersTest, FansAreThoseOfPyTorch) {
  struct Fans {
    ir::Shape shape;
    double fan_in;
    double fan_out;
  };
  for (const Fans& c : {Fans{{512, 784}, 784, 512}, Fans{{32, 16, 3, 3}, 144, 288}, Fans{{10}, 10, 10}}) {
    EXPECT_DOUBLE_EQ(Initialize("he_uniform", {}, c.shape).second, std::sqrt(6 / c.fan_in));
    EXPECT_DOUBLE_EQ(Initialize("he_uniform", {}, c.shape).first, -std::sqrt(6 / c.fan_in));
    EXPECT_DOUBLE_EQ(Initialize("he_normal", {}, c.shape).second, std::sqrt(2 / c.fan_in));
    EXPECT_DOUBLE_EQ(Initialize("xavier_uniform", {}, c.shape).second, std::sqrt(6 / (c.fan_in + c.fan_out)));
  }
}

TEST(InitializersTest, RefusesNumbersWithoutMeaning) {
  EXPECT_EQ(CheckNumbers("normal", {std::nullopt, -1.0})->argument, 1);
  EXPECT_EQ(CheckNumbers("uniform", {1.0, 0.0})->argument, 1);
  EXPECT_EQ(CheckNumbers("uniform", {2.0, std::nullopt})->argument, 0);
}

TEST(InitializersTest, EveryNameHasASignature) {
  for (const std::string& name : InitializerNames()) EXPECT_TRUE(InitializerSignature(name).has_value()) << name;
  EXPECT_FALSE(InitializerSignature("glorot").has_value());
}

}  // namespace
}  // namespace cleave::frontend
