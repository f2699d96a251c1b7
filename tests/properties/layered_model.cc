// A model is one of the families of `LayeredMaker::Run`: its inputs, what stands before the loop, the loop, the loss.
// `Varied` makes layers differ: by turns, in the first or the last layer, in one layer.
#include "tests/properties/layered_model.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"

namespace cleave::tests::properties {
namespace {

class LayeredMaker {
 public:
  explicit LayeredMaker(uint64_t seed) : random_(seed) {}

  LayeredModel Run() {
    depth_ = Int(2, 9);
    batch_ = 8 * Int(1, 2);
    switch (Int(0, 9)) {
      case 0:
      case 1:
        Transformer();
        break;
      case 2:
        Llama();
        break;
      case 3:
      case 4:
        Convolutions();
        break;
      case 5:
        Recurrent();
        break;
      case 6:
        Nested();
        break;
      default:
        Dense();
        break;
    }
    Train();
    Settings();
    return std::move(model_);
  }

 private:
  int64_t Int(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool Chance(int64_t of) { return Int(1, of) == 1; }  // One in `of`.
  template <typename T>
  T OneOf(std::vector<T> all) {
    return all[static_cast<size_t>(Int(0, static_cast<int64_t>(all.size()) - 1))];
  }
  template <typename... Parts>
  void Line(int indent, const Parts&... parts) {
    absl::StrAppend(&model_.text, std::string(static_cast<size_t>(4 * indent), ' '), parts..., "\n");
  }

  // Which layers are others: a condition on `i`.
  std::string OtherLayers() {
    switch (Int(0, 3)) {
      case 0:
        return "i % 2 == 1";
      case 1:
        return "i == 0";
      case 2:
        return absl::StrCat("i == ", depth_ - 1);
      default:
        return absl::StrCat("i == ", Int(0, depth_ - 1));
    }
  }

  // A statement, and another one in its place in some layers: mostly the same in all.
  void Varied(int indent, const std::string& usual, const std::string& other) {
    if (!Chance(3)) return Line(indent, usual);
    Line(indent, "if ", OtherLayers(), " {");
    Line(indent + 1, other);
    Line(indent, "} else {");
    Line(indent + 1, usual);
    Line(indent, "}");
  }

  void Begin(const std::string& inputs) {
    Line(0, "model Layered(batch: int = ", batch_, ") {");
    absl::StrAppend(&model_.text, inputs);
  }

  // The mean square of what one layer makes.
  void Auxiliary(int indent, const std::string& value) {
    if (!Chance(6)) return;
    Line(indent, "if i == ", Int(0, depth_ - 1), " {");
    Line(indent + 1, "#[term(weight = 0.01, name = \"aux\")]");
    Line(indent + 1, "loss reduce_mean(square(", value, "));");
    Line(indent, "}");
  }

  void Transformer() {
    const int64_t seq = OneOf<int64_t>({4, 8, 12}), width = OneOf<int64_t>({8, 16, 24}), vocab = Int(11, 40);
    Begin(absl::StrCat("    input tokens: i32[batch, ", seq, "];\n    input next: i32[batch, ", seq, "];\n"));
    const bool is_tied = Chance(3);
    if (is_tied) {
      Line(1, "param table: f32[", vocab, ", ", width, "] = normal(deviation = 0.5);");
      Line(1, "let mut x = gather(table, tokens) + position(", seq, ", ", width, ");");
    } else {
      Line(1, "let mut x = embedding(tokens, ", vocab, ", ", width, ", init = normal(deviation = 0.5)) + position(",
           seq, ", ", width, ");");
    }
    const bool reaches_back = Chance(4);
    if (reaches_back) Line(1, "let start = x;");
    Line(1, "for i in 0..", depth_, " {");
    Varied(2, "x = block(x, 2);",
           OneOf<std::string>({"x = block(x, 4);", "x = mlp(x, 12) + x;", "x = block(x, 2, causal = false);",
                               "x = x + attention(x, 2, causal = true);"}));
    if (reaches_back) Varied(2, "x = x + 0.1 * start;", "x = x - 0.1 * start;");
    Auxiliary(2, "x");
    Line(1, "}");
    Line(1, is_tied ? "let logits = matmul(layer_norm(x), table, transpose_b = true);"
                    : absl::StrCat("let logits = dense(layer_norm(x), ", vocab, ");"));
    Line(1, "loss cross_entropy(logits, next);");
    if (Chance(2)) Line(1, "metric accuracy(logits, next);");
    Line(0, "}");
  }

  void Llama() {
    const int64_t seq = OneOf<int64_t>({4, 8}), width = 16, vocab = Int(11, 40);
    absl::StrAppend(
        &model_.text,
        "fn gated(x: f32[..n, k], hidden: int) -> f32[..n, k] {\n"
        "    return dense(silu(dense(x, hidden, bias = false)) * dense(x, hidden, bias = false), k, "
        "bias = false);\n}\n"
        "fn rotated(x: f32[batch, seq, width], document: i32[batch, seq], heads: int) -> "
        "f32[batch, seq, width] {\n"
        "    let q = rope(reshape(dense(x, width, bias = false), (batch, seq, heads, width / heads)), "
        "axis = 1);\n"
        "    let k = rope(reshape(dense(x, width, bias = false), (batch, seq, heads, width / heads)), "
        "axis = 1);\n"
        "    let v = reshape(dense(x, width, bias = false), (batch, seq, heads, width / heads));\n"
        "    let scores = matmul(transpose(q, (0, 2, 1, 3)), transpose(k, (0, 2, 3, 1))) * 0.5;\n"
        "    let mixed = matmul(softmax(",
        OneOf<std::string>({"causal_mask(scores)", "causal_mask(soft_cap(scores, 2.0), window = 3)",
                            "range_mask(causal_mask(scores), run(document), run(document, reverse = true))"}),
        "), transpose(v, (0, 2, 1, 3)));\n"
        "    return dense(reshape(transpose(mixed, (0, 2, 1, 3)), (batch, seq, width)), width, "
        "bias = false);\n}\n");
    Begin(absl::StrCat("    input tokens: i32[batch, ", seq, "];\n    input next: i32[batch, ", seq, "];\n"));
    Line(1, "let mut x = embedding(tokens, ", vocab, ", ", width, ", init = normal(deviation = 0.5));");
    Line(1, "for i in 0..", depth_, " {");
    Line(2, "let attended = rms_norm(x);");
    Varied(2, "x = x + rotated(attended, tokens, 4);", "x = x + rotated(attended, tokens, 2);");
    Line(2, "let middle = rms_norm(x);");
    Varied(2, "x = x + gated(middle, 24);", "x = x + gated(middle, 40);");
    Auxiliary(2, "x");
    Line(1, "}");
    Line(1, "loss cross_entropy(dense(rms_norm(x), ", vocab, ", bias = false), next);");
    Line(0, "}");
  }

  void Convolutions() {
    const int64_t size = OneOf<int64_t>({6, 8}), channels = OneOf<int64_t>({8, 16, 16, 32}),
                  in = OneOf<int64_t>({3, 16});
    depth_ = std::min<int64_t>(depth_, 6);
    Begin(
        absl::StrCat("    input image: f32[batch, ", in, ", ", size, ", ", size, "];\n    input label: i32[batch];\n"));
    const bool reads_input = Chance(2);
    Line(1, reads_input ? "let mut x = image;" : absl::StrCat("let mut x = conv2d(image, ", channels, ", 1);"));
    const bool has_residual = !reads_input || in == channels;
    Line(1, "for i in 0..", depth_, " {");
    const std::string conv = absl::StrCat("conv2d(x, ", channels, ", 3, padding = 1)");
    const std::string other =
        OneOf<std::string>({absl::StrCat("conv2d(x, ", channels, ", 1)"),
                            absl::StrCat("conv2d(x, ", channels, ", 3, padding = 1, bias = false)"),
                            absl::StrCat("conv2d(x, ", channels, ", 5, padding = 2)")});
    const std::string activation = OneOf<std::string>({"silu", "tanh", "gelu"});
    if (Chance(3) && !reads_input) {
      Line(2, "x = ", activation, "(conv2d(x, ", channels, ", 3, padding = 1, groups = 1 + ", OneOf<int64_t>({1, 3, 7}),
           " * (i % 2)));");
    } else {
      Varied(
          2,
          absl::StrCat("let y = ", conv, ";\n        x = ", activation, "(y)", has_residual ? " + 0.5 * x" : "", ";"),
          absl::StrCat("x = ", activation, "(", other, ");"));
    }
    if (Chance(2)) {
      Line(2, "let mut normed = x;");
      Varied(2, "normed = batch_norm(x);", "normed = group_norm(x, 4);");
      Line(2, "x = normed;");
    }
    if (Chance(4)) Line(2, "x = avg_pool(x, (3, 3), (1, 1), (1, 1));");
    Auxiliary(2, "x");
    Line(1, "}");
    Line(1, "let logits = dense(flatten(x), 10);");
    Line(1, "loss cross_entropy(logits, label);");
    if (Chance(2)) Line(1, "metric accuracy(logits, label);");
    Line(0, "}");
  }

  void Recurrent() {
    const int64_t seq = Int(3, 12), width = OneOf<int64_t>({8, 12}), vocab = Int(11, 40);
    depth_ = Int(1, 3);
    Begin(absl::StrCat("    input tokens: i32[batch, ", seq, "];\n    input next: i32[batch, ", seq, "];\n"));
    Line(1, "let mut x = embedding(tokens, ", vocab, ", ", width, ", init = normal(deviation = 0.5));");
    Line(1, "for i in 0..", depth_, " {");
    Varied(2, absl::StrCat("x = ", OneOf<std::string>({"lstm", "gru"}), "(x, ", width, ");"),
           absl::StrCat("x = x + gru(x, ", width, ");"));
    Line(1, "}");
    Line(1, "loss cross_entropy(dense(x, ", vocab, "), next);");
    Line(0, "}");
  }

  void Nested() {
    const int64_t width = OneOf<int64_t>({8, 12, 16}), inner = Int(2, 4);
    depth_ = Int(2, 4);
    Begin(absl::StrCat("    input a: f32[batch, ", width, "];\n    input label: i32[batch];\n"));
    Line(1, "let mut x = a;");
    if (Chance(2)) Line(1, "param shared: f32[", width, ", ", width, "] = xavier_uniform();");
    const bool shares = model_.text.find("shared") != std::string::npos;
    Line(1, "for i in 0..", depth_, " {");
    Line(2, "for j in 0..", inner, " {");
    Varied(3, absl::StrCat("x = tanh(dense(x, ", width, "));"), absl::StrCat("x = x + silu(dense(x, ", width, "));"));
    if (shares) Line(3, "x = 0.7 * x + 0.3 * matmul(x, shared);");
    Line(2, "}");
    Line(2, "let mut ended = x;");
    Varied(2, "ended = layer_norm(x);", "ended = x + mlp(x, 20);");
    Line(2, "x = ended;");
    Auxiliary(2, "x");
    Line(1, "}");
    Line(1, "loss cross_entropy(dense(x, 10), label);");
    Line(0, "}");
  }

  // Layers of products, with all that may differ between them.
  void Dense() {
    const int64_t width = OneOf<int64_t>({8, 12, 16, 24});
    const bool has_second = Chance(2);
    std::string inputs = absl::StrCat("    input a: f32[batch, ", width, "];\n");
    if (has_second) absl::StrAppend(&inputs, "    input b: f32[batch, ", width * depth_, "];\n");
    absl::StrAppend(&inputs, "    input label: i32[batch];\n");
    Begin(inputs);
    const bool shares = Chance(3);
    if (shares) Line(1, "param shared: f32[", width, ", ", width, "] = xavier_uniform();");
    Line(1, Chance(2) ? "let mut x = a;" : absl::StrCat("let mut x = dense(a, ", width, ");"));
    const bool reaches_back = Chance(3);
    if (reaches_back) Line(1, "let mut before = x;");
    Line(1, "for i in 0..", depth_, " {");
    Line(2, "let mut y = x;");
    const std::string activation = OneOf<std::string>({"tanh", "silu", "gelu", "sigmoid"});
    switch (Int(0, 4)) {
      case 0:
        Varied(2, absl::StrCat("y = ", activation, "(dense(x, ", width, "));"),
               absl::StrCat("y = ", activation, "(dense(x, ", width, ", init = normal(deviation = 0.3)));"));
        break;
      case 1:
        Line(2, "y = dense(", activation, "(dense(x, ", width, " + 4 * i)), ", width, ");");
        break;
      case 2:
        Varied(2, absl::StrCat("y = dense(", activation, "(dense(x, ", 2 * width, ")), ", width, ");"),
               absl::StrCat("y = dense(x, ", width, ", bias = false);"));
        break;
      case 3:
        Line(2, "let normed = layer_norm(x);");
        Line(2, "y = mlp(normed, 2 * ", width, ");");
        break;
      default:
        Varied(2, absl::StrCat("y = ", activation, "(dense(x, ", width, "));"), "y = layer_norm(x);");
        break;
    }
    if (has_second) {
      Varied(2, absl::StrCat("x = 0.5 * (y + b[.., ", width, " * i .. ", width, " * (i + 1)]);"), "x = 0.5 * (x + y);");
    } else {
      Varied(2, "x = 0.5 * (y + x);", "x = 0.5 * y - 0.5 * x;");
    }
    if (Chance(4)) Line(2, "x = x * (1.0 - 0.05 * i);");
    if (shares) Varied(2, "x = 0.7 * x + 0.3 * matmul(x, shared);", "x = 0.7 * x + 0.3 * matmul(tanh(x), shared);");
    if (reaches_back) {
      Line(2, "if i % 3 == 2 {");
      Line(3, "x = 0.5 * (x + before);");
      Line(3, "before = x;");
      Line(2, "}");
    }
    if (Chance(5)) Line(2, "x = dropout(x, 0.2);");
    Auxiliary(2, "x");
    Line(1, "}");
    Line(1, "let logits = dense(x, 10);");
    Line(1, "loss ", Chance(6) ? "mse(logits, one_hot(label, 10))" : "cross_entropy(logits, label)", ";");
    Line(0, "}");
  }

  void Train() {
    Line(0, "train Layered {");
    Line(1, "data = synthetic(train = ", 4 * batch_, ", test = 0);");
    // Where they divide by a root of squares they add to it, so that rounding is not amplified.
    const std::string optimizer = OneOf<std::string>(
        {"sgd(lr = 0.02)", "momentum(lr = 0.01, momentum = 0.9)", "adamw(lr = 0.002, epsilon = 0.01)",
         "adam(lr = 0.002, epsilon = 0.01)", "momentum(lr = 0.005, momentum = 0.9, weight_decay = 0.01)",
         "rmsprop(lr = 0.001, epsilon = 0.1)", "muon(lr = 0.002)"});
    model_.amplifies = optimizer == "muon(lr = 0.002)";
    Line(1, "optimizer = ", optimizer, ";");
    Line(1, "epochs = 100;");
    Line(1, "steps = 4;");
    Line(1, "checkpoint = every(4);");
    Line(1, "log_every = 1;");
    // What the optimizer keeps of one layer's parameters may be something else, or nothing.
    if (depth_ > 1 && Chance(5)) {
      Line(1, "groups = { \"*.1.*\": ",
           OneOf<std::string>(
               {"frozen", "momentum(lr = 0.002)", "adagrad(lr = 0.001, epsilon = 0.1)", "optimizer(lr = 0.5 * lr)"}),
           " };");
    }
    if (Chance(4)) Line(1, "clip = ", OneOf<std::string>({"0.5", "10.0"}), ";");
    if (Chance(8)) Line(1, "loss_scale = 128.0;");
    if (Chance(6)) {
      Line(1, "precision = bf16;");
      model_.is_bf16 = true;
    }
    Line(0, "}");
  }

  void Set(const std::string& name, const std::string& value) { model_.settings.emplace_back(name, value); }

  void Settings() {
    model_.devices = OneOf<int64_t>({1, 1, 2, 2, 3, 4, 4, 6, 8});
    model_.is_cuda = Chance(4);
    if (Chance(2)) {
      Set("micro_batches", absl::StrCat(OneOf<int64_t>({2, 4})));
      const int64_t stages = OneOf<int64_t>({1, 2, 2, 3, 4, model_.devices});
      if (stages > 1 && model_.devices % stages == 0) {
        Set("stages", absl::StrCat(stages));
        const std::string schedule = OneOf<std::string>({"", "gpipe", "zero_bubble", "interleaved(2)"});
        if (!schedule.empty()) Set("pipeline_schedule", schedule);
      }
    }
    if (model_.devices > 1 && Chance(3)) Set("zero", absl::StrCat(Int(1, 3)));
    if (Chance(4)) Set("recompute", OneOf<std::string>({"full", "none"}));
    if (Chance(6)) Set("row_updates", OneOf<std::string>({"none", "all"}));
    if (Chance(3)) Set("collective_matmul", OneOf<std::string>({"2", "3", "4"}));
    if (Chance(8)) Set("search", OneOf<std::string>({"propagate", "data_parallel"}));
    if (Chance(8)) Set("objective", "memory");
  }

  std::mt19937_64 random_;
  LayeredModel model_;
  int64_t depth_ = 2;
  int64_t batch_ = 8;
};

}  // namespace

std::string LayeredModel::Command() const {
  std::string command = absl::StrCat("--devices ", devices, is_cuda ? " --target cuda" : "");
  for (const auto& [name, value] : settings) absl::StrAppend(&command, " --set '", name, "=", value, "'");
  return command;
}

LayeredModel MakeLayeredModel(uint64_t seed) { return LayeredMaker(seed).Run(); }

}  // namespace cleave::tests::properties
