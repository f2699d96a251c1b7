#include "tests/properties/random_model.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cleave::tests::properties {
namespace {

using Shape = std::vector<int64_t>;

constexpr int64_t kMostElements = 4000;  // Of a value, so that the interpreter is fast.

// A tensor of f32 that statements can read.
struct Value {
  std::string name;
  Shape shape;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t last() const { return shape.back(); }
};

int64_t Elements(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// "f32[batch, 4, 6]"; the first size of an input is the model's argument.
std::string TypeText(const Shape& shape) { return absl::StrCat("f32[", absl::StrJoin(shape, ", "), "]"); }
std::string TupleText(const std::vector<int64_t>& numbers) {
  return absl::StrCat("(", absl::StrJoin(numbers, ", "), numbers.size() == 1 ? ",)" : ")");
}

class Writer {
 public:
  Writer(uint64_t seed, const ModelOptions& options) : random_(seed), options_(options) {}

  RandomModel Write() {
    is_manual_ = Chance(8);
    devices_ = Below(9) + 1;
    ChooseMesh();
    batch_ = is_manual_ ? devices_ * Between(1, 3) : Between(2, 12);
    Inputs();
    const int64_t statements = Between(2, std::max(2, options_.most_statements));
    for (int64_t i = 0; i < statements; ++i) Statement();
    Loss();
    if (!header_.empty()) header_ = absl::StrCat("#include \"runtime/custom/view.h\"\n", header_);
    std::optional<double> memory_share;
    if (!is_manual_ && Chance(4)) memory_share = static_cast<double>(Below(100)) / 100;
    return {.text = absl::StrCat(functions_, is_manual_ ? "#[manual]\n" : "", "model Random(batch: int = ", batch_,
                                 ") {\n", body_, "}\n\n", Train(), "\n", Parallel()),
            .header = header_,
            .devices = devices_,
            .is_manual = is_manual_,
            .memory_share = memory_share};
  }

 private:
  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  bool Chance(int64_t one_in) { return Below(one_in) == 0; }
  template <typename T>
  const T& Any(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(Below(static_cast<int64_t>(choices.size())))];
  }
  int64_t Size() { return Any<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 12}); }

  // "v7"
  std::string Fresh(const std::string& stem) { return absl::StrCat(stem, ++names_); }
  void Line(const std::string& text) { absl::StrAppend(&body_, "    ", text, "\n"); }

  // `let`, with an attribute at times.
  const Value& Let(const std::string& expression, const Shape& shape, bool may_be_pinned = true) {
    const std::string name = Fresh("v");
    const std::string pin = may_be_pinned && !is_manual_ && Chance(12) ? Pin(shape) : "";
    if (!pin.empty()) WritePin(pin);
    if (may_be_pinned && !is_manual_ && Chance(8)) Line(Any<std::string>({"#[recompute]", "#[recompute]", "#[keep]"}));
    Line(absl::StrCat("let ", name, " = ", expression, ";"));
    values_.push_back({name, shape});
    return values_.back();
  }

  std::string Parameter(const Shape& shape) {
    const std::string name = Fresh("w");
    if (!is_manual_ && Chance(12)) {
      const std::string pin = Pin(shape);
      if (!pin.empty()) WritePin(pin);
    }
    Line(absl::StrCat("param ", name, ": ", TypeText(shape), " = ",
                      Any<std::string>({"normal(deviation = 0.3)", "uniform(-0.5, 0.5)", "constant(0.5)"}), ";"));
    parameters_.push_back(name);
    return name;
  }

  void WritePin(const std::string& pin) {
    Line(pin);
    has_pins_ = true;
  }

  // An attribute for a value of this shape, or nothing where none fits.
  std::string Pin(const Shape& shape) {
    if (Chance(3)) return "#[replicate]";
    if (shape.empty() || mesh_.empty()) return "";
    // Each named axis on at most one dimension that is large enough.
    std::vector<std::string> entries(shape.size(), "_");
    bool cuts = false;
    for (const auto& [axis, size] : mesh_) {
      const size_t d = static_cast<size_t>(Below(static_cast<int64_t>(shape.size())));
      if (entries[d] != "_" || shape[d] < size || Chance(3)) continue;
      entries[d] = absl::StrCat("\"", axis, "\"");
      cuts = true;
    }
    return cuts ? absl::StrCat("#[layout(", absl::StrJoin(entries, ", "), ")]") : "";
  }

  void ChooseMesh() {
    if (devices_ == 1 || Chance(2)) return;
    for (const int64_t outer : {2, 3, 4}) {
      if (devices_ % outer != 0 || devices_ == outer || Chance(2)) continue;
      mesh_ = {{"a", outer}, {"b", devices_ / outer}};
      return;
    }
    mesh_ = {{"a", devices_}};
  }

  void Inputs() {
    const int64_t count = Between(1, 2);
    for (int64_t i = 0; i < count; ++i) Input();
    if (Chance(3)) {
      tokens_ = Fresh("t");
      token_count_ = Between(2, 6);
      Line(absl::StrCat("input ", tokens_, ": i32[batch, ", token_count_, "];"));
    }
  }

  void Input() {
    static const auto& shapes = *new std::vector<Shape>{{5}, {8}, {12}, {4, 6}, {7, 4}, {6, 8}, {2, 6, 6}, {4, 5, 8}};
    Shape shape = Any(shapes);
    const std::string name = Fresh("x");
    Line(absl::StrCat("input ", name, ": f32[batch, ", absl::StrJoin(shape, ", "), "];"));
    if (is_manual_) {
      // Each rank works on its own samples.
      const int64_t part = batch_ / devices_;
      shape.insert(shape.begin(), part);
      Let(absl::StrCat(name, "[rank * ", part, " .. (rank + 1) * ", part, "]"), shape);
    } else {
      shape.insert(shape.begin(), batch_);
      values_.push_back({name, shape});
    }
  }

  // A value that `fits`, the later ones more often; nothing where there is none.
  const Value* Find(const std::function<bool(const Value&)>& fits) {
    std::vector<const Value*> found;
    for (const Value& value : values_) {
      if (fits(value)) found.push_back(&value);
    }
    if (found.empty()) return nullptr;
    const size_t from = Chance(2) ? found.size() / 2 : 0;
    return found[from + static_cast<size_t>(Below(static_cast<int64_t>(found.size() - from)))];
  }
  const Value* OfRank(int64_t least, int64_t most = 9) {
    return Find([=](const Value& value) { return value.rank() >= least && value.rank() <= most; });
  }

  std::string Unary() {
    return Any<std::string>({"relu", "tanh", "sigmoid", "gelu", "silu", "softplus", "abs", "square", "sin", "cos",
                             "erf", "softsign", "mish", "hard_swish", "celu", "leaky_relu", "neg", "gelu_exact"});
  }

  void Statement() {
    using Make = void (Writer::*)();
    static const auto& makers = *new std::vector<Make>{
        &Writer::MakeUnary,      &Writer::MakeUnary,  &Writer::MakeDense,     &Writer::MakeDense,
        &Writer::MakeBinary,     &Writer::MakeBinary, &Writer::MakeBroadcast, &Writer::MakeRows,
        &Writer::MakeReduce,     &Writer::MakeTurn,   &Writer::MakeReshape,   &Writer::MakeSlice,
        &Writer::MakeConcat,     &Writer::MakePad,    &Writer::MakeProduct,   &Writer::MakeAttention,
        &Writer::MakeImages,     &Writer::MakePool,   &Writer::MakeScan,      &Writer::MakeChoice,
        &Writer::MakeDropout,    &Writer::MakeTokens, &Writer::MakeTopK,      &Writer::MakeCall,
        &Writer::MakeTwoResults, &Writer::MakeMapped, &Writer::MakeCustom,    &Writer::MakeLoop,
        &Writer::MakeSplit,      &Writer::MakeLook,   &Writer::MakeState,     &Writer::MakeDiagonal};
    (this->*Any(makers))();
  }

  void MakeUnary() {
    const Value value = *OfRank(1);
    const std::string unary = !is_manual_ && Chance(12) ? "stop_gradient" : Unary();
    Let(absl::StrCat(Chance(10) ? absl::StrCat("exp(-", "abs(", value.name, "))")
                                : absl::StrCat(unary, "(", value.name, ")")),
        value.shape);
  }

  void MakeDense() {
    const Value* value = OfRank(2);
    if (value == nullptr) return;
    Shape shape = value->shape;
    shape.back() = Size();
    Let(absl::StrCat("dense(", value->name, ", ", shape.back(), ")"), shape);
  }

  void MakeBinary() {
    const Value one = *OfRank(1);
    const Value other = *Find([&](const Value& value) { return value.shape == one.shape; });
    static const auto& forms = *new std::vector<std::string>{
        "$0 + $1", "$0 - $1", "$0 * $1", "maximum($0, $1)", "minimum($0, $1)", "$0 / (1.5 + square($1))"};
    Let(Filled(Any(forms), one.name, other.name), one.shape);
  }

  static std::string Filled(std::string form, const std::string& one, const std::string& other) {
    for (const auto& [mark, text] : {std::pair<std::string, std::string>{"$0", one}, {"$1", other}}) {
      for (size_t at = form.find(mark); at != std::string::npos; at = form.find(mark)) form.replace(at, 2, text);
    }
    return form;
  }

  // With a parameter that is repeated along some dimensions.
  void MakeBroadcast() {
    const Value value = *OfRank(1);
    const size_t from = static_cast<size_t>(Below(value.rank()));
    Shape shape(value.shape.begin() + static_cast<std::ptrdiff_t>(from), value.shape.end());
    // A parameter does not know the samples.
    if (from == 0) shape[0] = 1;
    for (int64_t& size : shape) {
      if (Chance(4)) size = 1;
    }
    const std::string weight = Parameter(shape);
    Let(absl::StrCat(value.name, Any<std::string>({" + ", " * ", " - "}), weight), value.shape);
  }

  void MakeRows() {
    const Value* value = OfRank(2);
    if (value == nullptr) return;
    const std::string op = Any<std::string>({"softmax", "log_softmax", "layer_norm", "rms_norm", "l2_normalize"});
    Let(absl::StrCat(op, "(", value->name, ")"), Shape(value->shape));
  }

  void MakeReduce() {
    const Value* value = OfRank(2);
    if (value == nullptr) return;
    const int64_t axis = Below(value->rank());
    const bool keeps = Chance(2);
    Shape shape = value->shape;
    if (keeps) {
      shape[static_cast<size_t>(axis)] = 1;
    } else {
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    Let(absl::StrCat("reduce_", Any<std::string>({"sum", "mean", "max", "min"}), "(", value->name, ", axes = (", axis,
                     ",), keep_dims = ", keeps ? "true" : "false", ")"),
        shape);
  }

  void MakeTurn() {
    const Value* value = OfRank(2);
    if (value == nullptr) return;
    std::vector<int64_t> order(value->shape.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
    std::shuffle(order.begin(), order.end(), random_);
    Shape shape;
    for (const int64_t d : order) shape.push_back(value->shape[static_cast<size_t>(d)]);
    Let(absl::StrCat("transpose(", value->name, ", ", TupleText(order), ")"), shape);
  }

  void MakeReshape() {
    const Value value = *OfRank(1);
    Shape shape = value.shape;
    const size_t d = static_cast<size_t>(Below(value.rank()));
    if (Chance(2) && d + 1 < shape.size()) {
      shape[d] *= shape[d + 1];
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    } else {
      for (const int64_t part : {2, 3}) {
        if (shape[d] % part != 0 || shape[d] == part || shape.size() > 4) continue;
        shape[d] /= part;
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d) + Below(2), part);
        break;
      }
    }
    Let(absl::StrCat("reshape(", value.name, ", ", TupleText(shape), ")"), shape);
  }

  void MakeSlice() {
    const Value value = *OfRank(1);
    std::vector<std::string> entries;
    Shape shape = value.shape;
    for (int64_t& size : shape) {
      const int64_t begin = Below(size);
      const int64_t end = Between(begin + 1, size);
      if (Chance(2) || size == 1) {
        entries.push_back("..");
        continue;
      }
      entries.push_back(absl::StrCat(begin, " .. ", end));
      size = end - begin;
    }
    Let(absl::StrCat(value.name, "[", absl::StrJoin(entries, ", "), "]"), shape);
  }

  void MakeConcat() {
    const Value one = *OfRank(1);
    const size_t axis = static_cast<size_t>(Below(one.rank()));
    const Value other = *Find([&](const Value& value) {
      if (value.rank() != one.rank()) return false;
      for (size_t d = 0; d < one.shape.size(); ++d) {
        if (d != axis && value.shape[d] != one.shape[d]) return false;
      }
      return true;
    });
    Shape shape = one.shape;
    shape[axis] += other.shape[axis];
    if (Elements(shape) > kMostElements) return;
    Let(absl::StrCat("concat((", one.name, ", ", other.name, "), axis = ", axis, ")"), shape);
  }

  void MakePad() {
    const Value value = *OfRank(1);
    std::vector<int64_t> before, after;
    Shape shape = value.shape;
    for (int64_t& size : shape) {
      before.push_back(Below(3) * Below(2));
      after.push_back(Below(3) * Below(2));
      size += before.back() + after.back();
    }
    if (Elements(shape) > kMostElements) return;
    Let(absl::StrCat("pad(", value.name, ", ", TupleText(before), ", ", TupleText(after), ")"), shape);
  }

  void MakeProduct() {
    const Value* found = OfRank(2);
    if (found == nullptr) return;
    const Value value = *found;
    Shape shape = value.shape;
    shape.back() = Size();
    if (Chance(3)) {
      const std::string weight = Parameter({value.last(), shape.back()});
      const std::string rows = std::string("a b c d e ").substr(0, 2 * (value.shape.size() - 1));
      Let(Chance(2) ? absl::StrCat("matmul(", value.name, ", ", weight, ")")
                    : absl::StrCat("einsum(\"", rows, "k, k m -> ", rows, "m\", ", value.name, ", ", weight, ")"),
          shape);
      return;
    }
    const std::string weight = Parameter({shape.back(), value.last()});
    Let(absl::StrCat("matmul(", value.name, ", ", weight, ", transpose_b = true)"), shape);
  }

  // The diagonal of a square parameter, which scales columns; or columns on diagonals.
  void MakeDiagonal() {
    const Value* found = OfRank(1, 4);
    if (found == nullptr) return;
    const Value value = *found;
    const std::string rows = std::string("a b c ").substr(0, 2 * (value.shape.size() - 1));
    Shape shape = value.shape;
    shape.push_back(shape.back());
    if (Chance(2) && Elements(shape) <= kMostElements) {
      Let(absl::StrCat("einsum(\"", rows, "k -> ", rows, "k k\", ", value.name, ")"), shape);
      return;
    }
    const std::string weight = Parameter({value.last(), value.last()});
    Let(absl::StrCat("einsum(\"", rows, "k, k k -> ", rows, "k\", ", value.name, ", ", weight, ")"), value.shape);
  }

  void MakeAttention() {
    const Value* value = OfRank(3, 3);
    if (value == nullptr || value->last() % 2 != 0 || Elements(value->shape) > 600) return;
    if (Chance(2)) {  // Of documents of three places each, which no rounding changes.
      const std::string heads = absl::StrCat("split_heads(", value->name, ", 2)");
      const std::string document =
          absl::StrCat("cast(0.0 * ", value->name, "[.., .., 0], i32) + arange(", value->shape[1], ") / 3");
      const std::string places = absl::StrCat(value->shape[1]);
      const std::string bias =
          Chance(2) ? absl::StrCat("alibi(2, ", places, ", ", places, ")")
                    : absl::StrCat("bucket_bias(2, ", places, ", ", places, ", buckets = 8, furthest = 6)");
      const std::string call = Any<std::string>({"attend", "attend_documents", "attend_by_distance"});
      const bool by_distance = call == "attend_by_distance";
      const bool causal = Chance(2);
      Let(absl::StrCat(call, "(", heads, ", ", heads, ", ", heads,
                       call == "attend" ? "" : absl::StrCat(", ", by_distance ? bias : document),
                       ", causal = ", causal ? "true" : "false", ", window = ", by_distance && !causal ? 0 : Below(4),
                       by_distance || Chance(2) ? "" : ", cap = 1.5", Chance(2) ? ", rate = 0.25" : "", ")"),
          Shape(value->shape));
      return;
    }
    const std::string call = Any<std::string>({"attention", "block"});
    Let(absl::StrCat(call, "(", value->name, ", 2, causal = ", Chance(2) ? "true" : "false", ")"), Shape(value->shape));
  }

  void MakeImages() {
    const Value* value = OfRank(4, 4);
    if (value == nullptr) return;
    const int64_t kernel = Between(1, 3), padding = Below(kernel), stride = Between(1, 2), channels = Between(1, 4);
    Shape shape = {value->shape[0], channels, 0, 0};
    for (const size_t d : {size_t{2}, size_t{3}}) {
      const int64_t room = value->shape[d] + 2 * padding - kernel;
      if (room < 0) return;
      shape[d] = room / stride + 1;
    }
    Let(absl::StrCat("conv2d(", value->name, ", ", channels, ", ", kernel, ", stride = ", stride,
                     ", padding = ", padding, ")"),
        shape);
  }

  void MakePool() {
    const Value* value = OfRank(4, 4);
    if (value == nullptr) return;
    const int64_t kernel = Between(1, 3), stride = Between(1, 2), padding = kernel > 1 ? Below(2) : 0;
    Shape shape = value->shape;
    for (const size_t d : {size_t{2}, size_t{3}}) {
      const int64_t room = value->shape[d] + 2 * padding - kernel;
      if (room < 0) return;
      shape[d] = room / stride + 1;
    }
    Let(absl::StrCat(Any<std::string>({"max_pool", "avg_pool"}), "(", value->name, ", ", kernel, ", stride = ", stride,
                     ", padding = ", padding, ")"),
        shape);
  }

  void MakeScan() {
    const Value value = *OfRank(1);
    const Value other = *Find([&](const Value& found) { return found.shape == value.shape; });
    const std::string scanned = Chance(2) ? value.name : absl::StrCat("sigmoid(", other.name, "), ", value.name);
    Let(absl::StrCat(scanned == value.name ? "cumsum(" : "scan(", scanned, ", axis = ", Below(value.rank()),
                     ", reverse = ", Chance(2) ? "true" : "false", ")"),
        value.shape);
  }

  void MakeChoice() {
    const Value one = *OfRank(1);
    const Value other = *Find([&](const Value& value) { return value.shape == one.shape; });
    Let(absl::StrCat("where(", Any<std::string>({"greater", "less_equal"}), "(", one.name, ", ", other.name, "), ",
                     one.name, ", ", Chance(2) ? other.name : "0.25", ")"),
        one.shape);
  }

  void MakeDropout() {
    const Value value = *OfRank(1);
    Let(absl::StrCat("dropout(", value.name, ", 0.25)"), value.shape);
  }

  void MakeTokens() {
    if (tokens_.empty() || is_manual_) return;
    const int64_t width = Between(1, 4) * 2;
    Let(absl::StrCat("embedding(", tokens_, ", ", Between(3, 20), ", ", width, ")"), {batch_, token_count_, width});
  }

  void MakeTopK() {
    const Value* value = OfRank(2);
    if (value == nullptr) return;
    Shape shape = value->shape;
    shape.back() = Between(1, shape.back());
    Let(absl::StrCat("top_k(", value->name, ", ", shape.back(), ")"), shape);
  }

  // A function of the model, whose call may be a region.
  void MakeCall() {
    const Value* value = OfRank(2);
    if (value == nullptr) return;
    const std::string name = Fresh("f");
    absl::StrAppend(&functions_, "fn ", name, "(x: f32[..n, k], hidden: int) -> f32[..n, k] {\n    let up = ", Unary(),
                    "(dense(x, hidden));\n    return dense(up, k)", Any<std::string>({"", " + x", " * x"}), ";\n}\n\n");
    const std::string region = !is_manual_ && Chance(4)
                                   ? Any<std::string>({"#[region] ", "#[region(out = data_parallel)] ",
                                                       "#[region(objective = memory)] ", "#[region(out = auto)] "})
                                   : "";
    has_regions_ |= !region.empty();
    Let(absl::StrCat(region, name, "(", value->name, ", ", Size(), ")"), Shape(value->shape), region.empty());
  }

  void MakeTwoResults() {
    const Value* found = OfRank(2);
    if (found == nullptr) return;
    const Value value = *found;
    const std::string name = Fresh("f");
    absl::StrAppend(&functions_, "fn ", name, "(x: f32[..n, k]) -> (f32[..n, k], f32[..n]) {\n    let gate = ",
                    "sigmoid(dense(x, k));\n    return (gate * ", Unary(),
                    "(x), reduce_mean(gate, axes = (-1,)));\n}\n\n");
    const std::string one = Fresh("v"), other = Fresh("v");
    Line(absl::StrCat("let (", one, ", ", other, ") = ", name, "(", value.name, ");"));
    values_.push_back({one, value.shape});
    values_.push_back({other, Shape(value.shape.begin(), value.shape.end() - 1)});
  }

  void MakeMapped() {
    const Value* found = OfRank(3);
    if (found == nullptr) return;
    const Value value = *found;
    const std::string name = Fresh("f");
    const int64_t units = Size();
    absl::StrAppend(&functions_, "fn ", name, "(x: f32[..n, k], w: f32[m, k]) -> f32[..n, m] {\n    return ", Unary(),
                    "(matmul(x, w, transpose_b = true));\n}\n\n");
    const std::string weight = Parameter({units, value.last()});
    Shape shape = value.shape;
    shape.back() = units;
    Let(absl::StrCat("vmap(", name, ", axes = (0, _))(", value.name, ", ", weight, ")"), shape, false);
  }

  void MakeCustom() {
    const Value* value = OfRank(2, 2);
    if (value == nullptr || !options_.with_custom_ops) return;
    const std::string name = Fresh("op");
    static const auto& rules = *new std::vector<std::string>{
        "rule = \"n k -> n k\";\n    linear = ();", "rule = \"n k -> n k\";\n    whole = (k);\n    linear = (x,);",
        "rule = \"n k -> n k\";\n    linear = (x,);", ""};
    const std::string& rule = Any(rules);
    absl::StrAppend(&functions_, "op ", name, "(x: f32[n, k], factor: float) -> f32[n, k] {\n",
                    rule.empty() ? "" : absl::StrCat("    ", rule, "\n"), "    cpu = \"random_op.h\";\n}\n\n");
    absl::StrAppend(&header_, "\ninline void ", name, "(View<const float> x, float factor, View<float> y) {\n",
                    "  for (int64_t i = 0; i < x.size(); ++i) y[i] = factor * x[i];\n}\ninline void ", name,
                    "_backward(View<const float> dy, View<const float>, float factor, View<float> dx) {\n",
                    "  for (int64_t i = 0; i < dx.size(); ++i) dx[i] = factor * dy[i];\n}\n");
    Let(absl::StrCat(name, "(", value->name, ", 0.5)"), Shape(value->shape));
  }

  void MakeLoop() {
    const Value* found = OfRank(2);
    if (found == nullptr) return;
    const Value value = *found;
    const std::string name = Fresh("h");
    Line(absl::StrCat("let mut ", name, " = ", value.name, ";"));
    Line(absl::StrCat("for i in 0..", Between(1, 3), " {"));
    Line(absl::StrCat("    ", name, " = ", name, " + ", Unary(), "(dense(", name, ", ", value.last(), "));"));
    Line("}");
    values_.push_back({name, value.shape});
  }

  void MakeSplit() {
    const Value value = *OfRank(1);
    for (size_t d = 0; d < value.shape.size(); ++d) {
      if (value.shape[d] % 2 != 0) continue;
      const std::string one = Fresh("v"), other = Fresh("v");
      Line(absl::StrCat("let (", one, ", ", other, ") = split(", value.name, ", 2, axis = ", d, ");"));
      Shape shape = value.shape;
      shape[d] /= 2;
      values_.push_back({one, shape});
      values_.push_back({other, shape});
      return;
    }
  }

  void MakeLook() {
    Line(absl::StrCat(Any<std::string>({"print(", "print(local ", "assert_finite("}), OfRank(1)->name, ");"));
  }

  // What remains of statistics of earlier steps.
  void MakeState() {
    const Value* found = OfRank(2);
    if (is_manual_ || found == nullptr) return;
    const Value value = *found;
    const int64_t axis = Below(value.rank());
    Shape shape = value.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    const Value& mean = Let(absl::StrCat("reduce_mean(", value.name, ", axes = (", axis, ",))"), shape);
    const std::string state = Fresh("s");
    Line(absl::StrCat("state ", state, ": ", TypeText(shape), " = constant(0.5);"));
    Line(absl::StrCat("update ", state, " = 0.9 * ", state, " + ", Any<std::string>({"0.1 * ", "-", "tanh"}), "(",
                      mean.name, ");"));
    if (Chance(2)) Let(absl::StrCat("while_training(", mean.name, ", ", state, ")"), shape);
  }

  // Several of the values, so that most statements are part of the loss.
  void Loss() {
    std::vector<std::string> terms;
    const int64_t count = Between(1, 3);
    for (int64_t i = 0; i < count; ++i) {
      const Value& value = i == 0 ? values_.back() : *OfRank(1);
      terms.push_back(
          absl::StrCat("reduce_mean(", Any<std::string>({"square", "tanh", "softplus"}), "(", value.name, "))"));
    }
    const Value* rows = Find([&](const Value& value) { return value.rank() == 2 && value.shape[0] == batch_; });
    if (!is_manual_ && rows != nullptr && Chance(2)) {
      Line("input label: i32[batch];");
      terms.push_back(absl::StrCat("cross_entropy(dense(", rows->name, ", 5), label)"));
      if (Chance(2)) {
        Line(absl::StrCat("metric accuracy(dense(", rows->name, ", 5), label);"));
        Line(absl::StrCat("metric total(reduce_sum(", rows->name, " * sample_mask(", rows->name,
                          "))) / total(reduce_sum(sample_mask(", rows->name, ")));"));
      }
    }
    if (!is_manual_ && rows != nullptr && Chance(3)) {
      Line("input mask: f32[batch];");
      terms.push_back(absl::StrCat("masked_mean(reduce_mean(square(", rows->name, "), axes = 1), relu(mask) + 0.1)"));
    }
    const Value* places = Find([&](const Value& value) { return value.rank() == 3 && value.shape[0] == batch_; });
    if (!is_manual_ && places != nullptr && Chance(2)) {
      Line(absl::StrCat("input labels: i32[batch, ", places->shape[1], "];"));
      terms.push_back(absl::StrCat("linear_cross_entropy(", places->name, ", ", Parameter({5, places->last()}),
                                   ", labels, parts = ", Between(1, places->shape[1]), ", ignore = 2",
                                   Chance(2) ? ", cap = 1.5" : "", ")"));
    }
    // Some parameter is needed.
    const Value first = values_.front();
    const std::string weight = Parameter({first.last()});
    terms.push_back(absl::StrCat("reduce_mean(square(", first.name, " * ", weight, "))"));
    trained_ = weight;
    if (!is_manual_ && Chance(3)) {
      for (const std::string& term : terms) {
        if (Chance(2)) Line(absl::StrCat("#[term(name = \"", Fresh("term"), "\", weight = 0.5)]"));
        Line(absl::StrCat("loss ", term, ";"));
      }
      return;
    }
    const std::string sum = absl::StrJoin(terms, " + ");
    Line(absl::StrCat("loss ", is_manual_ ? absl::StrCat("all_reduce(", sum, ", mean)") : sum, ";"));
  }

  // An optimizer of its own for a parameter that the loss surely depends on, and a frozen one besides.
  std::string Groups() {
    if (!Chance(3)) return "";
    std::string groups =
        absl::StrCat("\"", trained_, "\": ", Any<std::string>({"optimizer(lr = 0.5 * lr)", "momentum()"}));
    if (parameters_[0] != trained_) absl::StrAppend(&groups, ", \"", parameters_[0], "\": frozen");
    return absl::StrCat("    groups = { ", groups, " };\n");
  }

  std::string Train() {
    // Adam divides by the size of a gradient, which may be nothing but rounding: the bias of keys has none.
    static const auto& optimizers =
        *new std::vector<std::string>{"sgd(lr = 0.05)",
                                      "momentum(lr = 0.05, momentum = 0.9)",
                                      "momentum(lr = 0.02, momentum = 0.5, nesterov = true)",
                                      "adam(lr = 0.01, epsilon = 0.001)",
                                      "adamw(lr = 0.01, epsilon = 0.001, weight_decay = 0.1)",
                                      "adagrad(lr = 0.05, epsilon = 0.01)",
                                      "sgd(lr = 0.05); clip = 0.5",
                                      "sgd(lr = cosine(0.05, steps = 9, warmup = 2))"};
    return absl::StrCat("train Random {\n    optimizer = ", Any(optimizers), ";\n", Groups(), "    epochs = 1;\n}\n");
  }

  std::string Parallel() {
    std::vector<std::string> settings;
    if (mesh_.empty()) {
      settings.push_back(absl::StrCat("devices = ", devices_));
    } else {
      std::vector<std::string> axes;
      for (const auto& [name, size] : mesh_) axes.push_back(absl::StrCat(name, " = ", size));
      settings.push_back(absl::StrCat("mesh = (", absl::StrJoin(axes, ", "), ")"));
    }
    if (!is_manual_) {
      std::string search = Any<std::string>({"sapp", "sapp", "sapp", "exact", "data_parallel", "replicate"});
      if (has_pins_ && Chance(3)) search = "propagate";
      settings.push_back(absl::StrCat("search = ", search));
      if (Chance(3)) settings.push_back(absl::StrCat("zero = ", Any<std::string>({"1", "2", "3", "auto"})));
      // The classic price is one of SAPP, for speed, of whole models.
      const bool may_be_classic = search == "sapp" && !has_regions_;
      if (Chance(3)) {
        const std::string cost = Any<std::string>({"bytes", "time", "classic"});
        if (cost != "classic" || may_be_classic) settings.push_back(absl::StrCat("cost = ", cost));
        if (cost == "time" && Chance(3)) settings.push_back("leave_idle = true");
      } else if (Chance(5)) {
        settings.push_back("objective = memory");
      }
      if (Chance(2)) settings.push_back("row_updates = all");
      if (Chance(5)) settings.push_back("recompute = full");
      if (Chance(6)) settings.push_back(absl::StrCat("dataset = ", Any<std::string>({"data_parallel", "full_batch"})));
      if (has_regions_ && Chance(2)) settings.push_back("outside = search");
    }
    std::string text = "parallel {\n";
    for (const std::string& setting : settings) absl::StrAppend(&text, "    ", setting, ";\n");
    return text + "}\n";
  }

  std::mt19937_64 random_;
  const ModelOptions options_;
  bool is_manual_ = false;
  bool has_pins_ = false;
  bool has_regions_ = false;
  int64_t devices_ = 1;
  int64_t batch_ = 1;
  std::vector<std::pair<std::string, int64_t>> mesh_;  // Named axes; none: the mesh is the compiler's.
  std::string tokens_;
  int64_t token_count_ = 0;
  int names_ = 0;
  std::vector<Value> values_;
  std::vector<std::string> parameters_;
  std::string trained_;  // One of them, on which the loss depends.
  std::string functions_;
  std::string header_;
  std::string body_;
};

}  // namespace

RandomModel MakeRandomModel(uint64_t seed, const ModelOptions& options) { return Writer(seed, options).Write(); }

}  // namespace cleave::tests::properties
