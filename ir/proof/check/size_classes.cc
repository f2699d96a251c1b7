#include "ir/proof/check/size_classes.h"

#include <algorithm>
#include <numeric>

namespace cleave::ir {

SizeClasses::SizeClasses(const Graph& graph, const std::vector<Rule>& rules) : first_node_(graph.ops.size()) {
  for (const Op& op : graph.ops) {
    first_node_[op.id] = static_cast<int>(parent_.size());
    for (const Factor& factor : rules[static_cast<size_t>(op.id.value())].factors) {
      parent_.push_back(static_cast<int>(parent_.size()));
      // A size of 1 means broadcasting or nothing at all, so it never changes and no other size becomes 1.
      classes_.push_back(SizeClass{
          .original = factor.size, .size = factor.size, .fixed = factor.fixed_size || factor.size == 1, .cuts = {}});
    }
  }
  const auto rule = [&rules](OpId id) -> const Rule& { return rules[static_cast<size_t>(id.value())]; };
  for (const Op& op : graph.ops) {
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      TieInput(rule(op.inputs[input]), rule(op.id), op, static_cast<int>(input));
    }
  }
  for (const StateUpdate& update : graph.updates) {
    const Rule& state = rule(update.state);
    for (size_t d = 0; d < state.output.size(); ++d) {
      Tie(Nodes(update.state, state.output[d]), Nodes(update.value, rule(update.value).output[d]));
    }
  }
}

void SizeClasses::TieInput(const Rule& producer, const Rule& consumer, const Op& op, int input) {
  const OpId producer_op = op.inputs[static_cast<size_t>(input)];
  for (size_t d = 0; d < producer.output.size(); ++d) {
    const std::vector<int> made = Nodes(producer_op, producer.output[d]);
    const std::vector<int> read = Nodes(op.id, consumer.inputs[static_cast<size_t>(input)][d]);
    if (consumer.WindowOf(input, d) == nullptr) {
      Tie(made, read);
      continue;
    }
    // A window is given in elements, so the dimensions that it connects keep their sizes.
    for (int node : made) Fix(Root(node));
    for (int node : read) Fix(Root(node));
  }
}

std::vector<int> SizeClasses::Nodes(OpId op, const FactorList& factors) const {
  std::vector<int> nodes;
  for (int factor : factors) nodes.push_back(Node(op, factor));
  return nodes;
}

void SizeClasses::Tie(std::vector<int> a, std::vector<int> b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty()) {  // A broadcast dimension: size 1.
    for (int node : b) classes_[static_cast<size_t>(Root(node))].fixed = true;
    return;
  }
  const auto original = [this](int node) { return classes_[static_cast<size_t>(Root(node))].original; };
  const bool alike = a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                                        [&](int x, int y) { return original(x) == original(y); });
  if (alike) {
    for (size_t i = 0; i < a.size(); ++i) Unite(a[i], b[i]);
  } else if (a.size() == 1) {
    products_.push_back({.whole = a.front(), .parts = b});
  } else {
    for (int node : a) classes_[static_cast<size_t>(Root(node))].fixed = true;
    for (int node : b) classes_[static_cast<size_t>(Root(node))].fixed = true;
  }
}

int SizeClasses::Root(int node) {
  while (parent_[static_cast<size_t>(node)] != node) {
    int& parent = parent_[static_cast<size_t>(node)];
    parent = parent_[static_cast<size_t>(parent)];
    node = parent;
  }
  return node;
}

void SizeClasses::Unite(int a, int b) {
  a = Root(a);
  b = Root(b);
  if (a == b) return;
  parent_[static_cast<size_t>(b)] = a;
  classes_[static_cast<size_t>(a)].fixed |= classes_[static_cast<size_t>(b)].fixed;
}

void SizeClasses::AddCut(OpId op, int factor, int64_t pieces, int64_t new_pieces) {
  classes_[static_cast<size_t>(Root(Node(op, factor)))].cuts.insert({pieces, new_pieces});
}

// Whether the new numbers of pieces cut `size` as the old ones cut the original size.
bool SizeClasses::Keeps(const SizeClass& size_class, int64_t size) {
  const auto sign = [](int64_t value) { return (value > 0) - (value < 0); };
  return std::all_of(size_class.cuts.begin(), size_class.cuts.end(), [&](const std::pair<int64_t, int64_t>& cut) {
    const auto [pieces, new_pieces] = cut;
    if (new_pieces == 1) return true;
    return (size_class.original % pieces == 0) == (size % new_pieces == 0) &&
           sign(size_class.original - pieces) == sign(size - new_pieces);
  });
}

int64_t SizeClasses::SmallSize(const SizeClass& size_class) const {
  // Two and three alternate, so that dimensions that were mixed up seldom have the same size.
  const int64_t start = 2 + (size_class.original / 2) % 2;
  for (int64_t size = start; size < size_class.original; ++size) {
    if (Keeps(size_class, size)) return size;
  }
  return size_class.original;
}

void SizeClasses::ChooseSizes() {
  for (Product& product : products_) {
    product.whole = Root(product.whole);
    for (int& part : product.parts) part = Root(part);
    // The whole is cut as its most major part that is larger than 1 is cut, where that is possible.
    const auto major = std::find_if(product.parts.begin(), product.parts.end(),
                                    [this](int part) { return classes_[static_cast<size_t>(part)].original > 1; });
    if (major == product.parts.end()) continue;
    SizeClass& part = classes_[static_cast<size_t>(*major)];
    for (const auto& cut : classes_[static_cast<size_t>(product.whole)].cuts) {
      if (part.original % cut.first == 0) part.cuts.insert(cut);
    }
  }
  for (SizeClass& size_class : classes_) {
    size_class.size = size_class.fixed ? size_class.original : SmallSize(size_class);
  }
  while (!ApplyProducts()) {
  }
}

// Sets the size of every product from its parts. Returns false when some sizes had to be fixed, so that it has to be
// done again. Each time at least one more class is fixed, and with the original sizes every product holds.
bool SizeClasses::ApplyProducts() {
  // A whole may be a part of another product. With as many rounds as there are products every chain is settled.
  for (size_t round = 0; round <= products_.size(); ++round) {
    bool changed = false;
    for (const Product& product : products_) {
      SizeClass& whole = classes_[static_cast<size_t>(product.whole)];
      int64_t size = 1;
      for (int part : product.parts) size *= classes_[static_cast<size_t>(part)].size;
      if (size == whole.size) continue;
      if (whole.fixed) {
        for (int part : product.parts) Fix(part);
        return false;
      }
      whole.size = size;
      changed = true;
    }
    if (!changed) break;
  }
  for (const Product& product : products_) {
    SizeClass& whole = classes_[static_cast<size_t>(product.whole)];
    int64_t size = 1;
    for (int part : product.parts) size *= classes_[static_cast<size_t>(part)].size;
    // Two products contradict each other, or the cuts would treat a whole otherwise than before. Then only the original
    // sizes are left, and where they stand already there is nothing better.
    const bool fixed = whole.fixed && std::all_of(product.parts.begin(), product.parts.end(), [this](int part) {
                         return classes_[static_cast<size_t>(part)].fixed;
                       });
    if (!fixed && (size != whole.size || !Keeps(whole, whole.size))) {
      Fix(product.whole);
      for (int part : product.parts) Fix(part);
      return false;
    }
  }
  return true;
}

void SizeClasses::Fix(int root) {
  SizeClass& size_class = classes_[static_cast<size_t>(root)];
  size_class.fixed = true;
  size_class.size = size_class.original;
}

int64_t SizeClasses::NewSize(OpId op, int factor) { return classes_[static_cast<size_t>(Root(Node(op, factor)))].size; }

}  // namespace cleave::ir
