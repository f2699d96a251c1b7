#include "runtime/einsum/einsum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <sstream>

#include "gtest/gtest.h"
#include "runtime/device/device_vector.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {
namespace {

struct Case {
  const char* formula;
  std::map<std::string, int64_t> sizes;
};

std::vector<std::vector<std::string>> Terms(const std::string& formula) {
  std::vector<std::vector<std::string>> terms(1);
  std::string spaced;
  for (const char c : formula) spaced += c == ',' ? std::string(" , ") : std::string(1, c);
  std::istringstream words(spaced);
  for (std::string word; words >> word;) {
    if (word == "," || word == "->") {
      terms.emplace_back();
    } else if (word != "()") {
      terms.back().push_back(word);
    }
  }
  return terms;
}

// The indexes that stand twice in a term, in the order in which they first stand in the formula.
std::vector<std::string> Repeated(const std::vector<std::vector<std::string>>& terms) {
  std::vector<std::string> repeated;
  for (const auto& term : terms) {
    for (const std::string& name : term) {
      bool twice = false;
      for (const auto& each : terms) twice = twice || std::count(each.begin(), each.end(), name) > 1;
      if (twice && std::count(repeated.begin(), repeated.end(), name) == 0) repeated.push_back(name);
    }
  }
  return repeated;
}

std::vector<int64_t> Shape(const std::vector<std::string>& term, const std::map<std::string, int64_t>& sizes) {
  std::vector<int64_t> shape;
  for (const std::string& name : term) shape.push_back(sizes.at(name));
  return shape;
}

int64_t Place(const std::vector<std::string>& term, const std::map<std::string, int64_t>& sizes,
              const std::map<std::string, int64_t>& index) {
  int64_t place = 0;
  for (const std::string& name : term) place = place * sizes.at(name) + index.at(name);
  return place;
}

void Check(const Case& item) {
  SCOPED_TRACE(item.formula);
  const auto terms = Terms(item.formula);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::vector<float>> values;
  for (size_t i = 0; i + 1 < terms.size(); ++i) {
    values.emplace_back(static_cast<size_t>(ElementCount(Shape(terms[i], item.sizes))));
    for (float& value : values.back()) value = uniform(random);
  }
  std::vector<std::unique_ptr<DeviceVector<float>>> tensors;
  std::vector<EinsumInput> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    tensors.push_back(std::make_unique<DeviceVector<float>>(values[i]));
    inputs.push_back({tensors.back()->get(), Shape(terms[i], item.sizes)});
  }
  const auto count = static_cast<size_t>(ElementCount(Shape(terms.back(), item.sizes)));
  std::vector<double> expected(count, 0.0);
  int64_t combinations = 1;
  for (const auto& [name, size] : item.sizes) combinations *= size;
  for (int64_t n = 0; n < combinations; ++n) {
    std::map<std::string, int64_t> index;
    int64_t rest = n;
    for (const auto& [name, size] : item.sizes) {
      index[name] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (size_t i = 0; i < values.size(); ++i) {
      product *= values[i][static_cast<size_t>(Place(terms[i], item.sizes, index))];
    }
    expected[static_cast<size_t>(Place(terms.back(), item.sizes, index))] += product;
  }
  const DeviceVector<float> result(std::vector<float>(count, 99.0f));
  std::vector<Diagonal> diagonals;
  for (const std::string& name : Repeated(terms)) diagonals.push_back({0, item.sizes.at(name)});
  Einsum(item.formula, inputs, result.get(), diagonals);
  const std::vector<float> actual = result.Values();
  for (size_t e = 0; e < count; ++e) {
    ASSERT_NEAR(actual[e], expected[e], 2e-5 * (1 + std::abs(expected[e]))) << "element " << e;
  }
}

TEST(EinsumTest, EqualsTheSumWrittenOut) {
  const std::map<std::string, int64_t> bikj = {{"b", 3}, {"i", 4}, {"k", 17}, {"j", 5}};
  const std::vector<Case> cases = {
      // Matrix products: as they lie, transposed, and in every other order.
      {"b i k, b k j -> b i j", bikj},
      {"b k i, b j k -> b i j", bikj},
      {"b i k, b k j -> b j i", bikj},
      {"i b k, k j b -> j b i", bikj},
      {"k b i, j b k -> i j b", bikj},
      {"i k, k j -> i j", {{"i", 40}, {"k", 30}, {"j", 20}}},
      {"a i k c, c k j -> j a i", {{"a", 2}, {"i", 3}, {"k", 4}, {"c", 5}, {"j", 6}}},
      {"i k, k -> i", {{"i", 4}, {"k", 7}}},
      {"i, j -> i j", {{"i", 4}, {"j", 7}}},
      {"i, i -> i", {{"i", 4}}},
      {"k, k -> ()", {{"k", 9}}},
      // Others.
      {"i k -> i", {{"i", 40}, {"k", 7}}},
      {"i j k -> k i", {{"i", 4}, {"j", 3}, {"k", 7}}},
      {"i k -> ()", {{"i", 200}, {"k", 100}}},
      {"i k, k -> ()", {{"i", 70}, {"k", 30}}},
      {"i k, j -> i", {{"i", 4}, {"k", 7}, {"j", 3}}},
      {"i, i k, k j -> j", {{"i", 4}, {"k", 7}, {"j", 300}}},
      {"a b, b c, c d -> a d", {{"a", 40}, {"b", 7}, {"c", 8}, {"d", 30}}},
      {"i, () -> i", {{"i", 4}}},
      // Diagonals.
      {"i i -> ()", {{"i", 6}}},
      {"i i -> i", {{"i", 6}}},
      {"i -> i i", {{"i", 6}}},
      {"i j i, j k -> k i", {{"i", 6}, {"j", 3}, {"k", 4}}},
      // Nothing to sum, and nothing to write.
      {"i k, k j -> i j", {{"i", 4}, {"k", 0}, {"j", 3}}},
      {"i k -> i", {{"i", 4}, {"k", 0}}},
      {"i k, k j -> i j", {{"i", 0}, {"k", 2}, {"j", 3}}},
  };
  for (const Case& item : cases) Check(item);
}

// A piece of an index gives that piece of the result, or a part of the sum.
TEST(EinsumTest, PiecesOfDiagonals) {
  const int64_t n = 7, k = 3;
  std::vector<float> values(static_cast<size_t>(n * k * n));
  for (size_t e = 0; e < values.size(); ++e) values[e] = static_cast<float>(e % 11) - 4.0f;
  const auto piece = [&](const std::string& formula, Diagonal of, size_t results) {
    const auto begin = values.begin() + of.first * k * n;
    const int64_t rows = of.size;
    const DeviceVector<float> x(std::vector<float>(begin, begin + rows * k * n));
    const DeviceVector<float> result(std::vector<float>(results, 99.0f));
    Einsum(formula, {{x.get(), {rows, k, n}}}, result.get(), {{of.first, n}});
    return result.Values();
  };
  for (const auto& [formula, of_each] : {std::pair("i k i -> i k", k), std::pair("i k i -> i i k", n * k)}) {
    const std::vector<float> whole = piece(formula, {0, n}, static_cast<size_t>(n * of_each));
    for (int64_t cut = 0; cut <= n; ++cut) {
      std::vector<float> joined = piece(formula, {0, cut}, static_cast<size_t>(cut * of_each));
      const std::vector<float> rest = piece(formula, {cut, n - cut}, static_cast<size_t>((n - cut) * of_each));
      joined.insert(joined.end(), rest.begin(), rest.end());
      EXPECT_EQ(joined, whole) << formula << ", cut at " << cut;
    }
  }
  const std::vector<float> whole = piece("i k i -> k", {0, n}, 3);
  for (int64_t cut = 0; cut <= n; ++cut) {
    const std::vector<float> a = piece("i k i -> k", {0, cut}, 3), b = piece("i k i -> k", {cut, n - cut}, 3);
    for (size_t e = 0; e < 3; ++e) EXPECT_EQ(a[e] + b[e], whole[e]) << "cut at " << cut;
  }
}

}  // namespace
}  // namespace cleave::runtime
