#include "ir/proof/check/size_classes.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/check/check.h"
#include "ir/proof/check/small_sliding.h"

namespace cleave::ir {
namespace {

// The sum or product of sizes, at most `most`: an original size, so what is larger is too large anyway.
int64_t SumUpTo(int64_t most, int64_t a, int64_t b) { return a > most - b ? most : a + b; }
int64_t ProductUpTo(int64_t most, int64_t a, int64_t b) { return a > most / b ? most : a * b; }

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

std::vector<int64_t> NumbersOf(const Window& window) {
  return {window.elements, window.outer, window.numerator, window.denominator, window.first, window.last};
}

}  // namespace

std::vector<RowAccess> RowAccesses(const Graph& graph) {
  std::vector<RowAccess> accesses;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kGather && op.kind != OpKind::kScatter) continue;
    for (const OpId input : op.inputs) {
      if (graph.op(input).kind == OpKind::kDistinct) accesses.push_back({.op = op.id, .numbers = input});
    }
  }
  return accesses;
}

SizeClasses::SizeClasses(const Graph& graph, const std::vector<Rule>& rules) : first_node_(graph.ops.size()) {
  const auto rule = [&rules](OpId id) -> const Rule& { return rules[static_cast<size_t>(id.value())]; };
  for (const Op& op : graph.ops) {
    first_node_[op.id] = static_cast<int>(parent_.size());
    for (const Factor& factor : rule(op.id).factors) AddNode(factor.size, factor.fixed_size);
  }
  for (const Op& op : graph.ops) {
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      TieInput(rule(op.inputs[input]), rule(op.id), op, static_cast<int>(input));
    }
    for (const Selection& selection : rule(op.id).selections) {
      selections_[op.id].push_back(
          AddSelection(Node(op.id, selection.part), Node(op.id, selection.whole), selection.begin));
      for (size_t input = 0; input < op.inputs.size(); ++input) {
        TieCandidates(rule(op.inputs[input]), rule(op.id), op, static_cast<int>(input), selection);
      }
    }
  }
  for (const StateUpdate& update : graph.updates) {
    const Rule& state = rule(update.state);
    for (size_t d = 0; d < state.output.size(); ++d) {
      Tie(Nodes(update.state, state.output[d]), Nodes(update.value, rule(update.value).output[d]));
    }
  }
  TieRows(graph, rules);
  UniteEqualParts();
  AddSegments();
}

void SizeClasses::TieRows(const Graph& graph, const std::vector<Rule>& rules) {
  std::map<OpId, int> rows_of;  // By the numbers.
  for (const auto& [op, numbers] : RowAccesses(graph)) {
    const int rows = Node(op, rules[static_cast<size_t>(op.value())].inputs[0][0].front());
    Unite(rows_of.emplace(numbers, rows).first->second, rows);
  }
}

int SizeClasses::AddNode(int64_t original, bool fixed) {
  parent_.push_back(static_cast<int>(parent_.size()));
  // A size of 1 means broadcasting or nothing at all, so it never changes and no other size becomes 1.
  classes_.push_back(SizeClass{.original = original, .size = original, .fixed = fixed || original == 1, .cuts = {}});
  return parent_.back();
}

void SizeClasses::TieInput(const Rule& producer, const Rule& consumer, const Op& op, int input) {
  const OpId producer_op = op.inputs[static_cast<size_t>(input)];
  const std::vector<FactorList>& dimensions = consumer.inputs[static_cast<size_t>(input)];
  for (size_t d = 0; d < producer.output.size(); ++d) {
    if (consumer.WindowOf(input, d) != nullptr) continue;
    Tie(Nodes(producer_op, producer.output[d]), Nodes(op.id, dimensions[d]));
  }
  for (const InputWindow& entry : consumer.windows) {
    if (entry.input != input) continue;
    const size_t d = static_cast<size_t>(entry.dimension);
    TieWindow(entry, op, Node(op.id, dimensions[d].front()), Nodes(producer_op, producer.output[d]));
  }
}

void SizeClasses::TieCandidates(const Rule& producer, const Rule& consumer, const Op& op, int input,
                                const Selection& selection) {
  const OpId made_by = op.inputs[static_cast<size_t>(input)];
  for (const InputWindow& entry : producer.windows) {
    if (entry.cause != WindowCause::kPieces) continue;
    for (size_t d = 0; d < producer.output.size(); ++d) {
      const bool is_whole = consumer.inputs[static_cast<size_t>(input)][d] == FactorList{selection.whole};
      if (is_whole && producer.output[d].back() == entry.taps) {
        Unite(Node(op.id, selection.part), Node(made_by, entry.taps));
      }
    }
  }
}

void SizeClasses::TieWindow(const InputWindow& entry, const Op& op, int factor, std::vector<int> made) {
  WindowedInput windowed = {.elements = AddNode(entry.window.elements, /*fixed=*/false), .factor = factor};
  Tie(std::move(made), {windowed.elements});
  Reader& first =
      readers_
          .insert({{op.inputs[static_cast<size_t>(entry.input)], entry.dimension, NumbersOf(entry.window)}, {factor}})
          .first->second;
  Unite(first.factor, factor);
  switch (entry.cause) {
    case WindowCause::kShift:
      windowed.part = AddPart(entry.window, factor, windowed.elements);
      break;
    case WindowCause::kKernel:
    case WindowCause::kPlaces:
      windowed.slide = AddSlide(entry, op, factor, windowed.elements);
      AddReader(windowed.slide, first);
      break;
    case WindowCause::kPieces:
      Class(windowed.elements).cuts.insert({entry.window.outer, entry.window.outer});
      if (entry.taps < 0) break;
      if (entry.sliding.stride > 1) {
        AddLargestPiece(entry.sliding, windowed.elements, Node(op.id, entry.taps));
        break;
      }
      // A piece gives as many candidates as are wanted, which may be more than there are elements.
      if (Class(Node(op.id, entry.taps)).original <= Class(windowed.elements).original) {
        AddSelection(Node(op.id, entry.taps), windowed.elements, 0);
      }
      break;
    case WindowCause::kPieceOf:
      Class(factor).cuts.insert({entry.window.elements, entry.window.elements});
      AddLargestPiece(entry.sliding, factor, Node(op.id, entry.taps));
      break;
  }
  windows_[{op.id, entry.input, entry.dimension}] = windowed;
}

int SizeClasses::AddSelection(int part, int whole, int64_t begin) {
  parts_.push_back({.whole = whole, .part = part, .begin = begin, .end = begin + Class(part).original});
  return static_cast<int>(parts_.size()) - 1;
}

int SizeClasses::AddPart(const Window& window, int factor, int elements) {
  const bool is_slice = window.first >= 0 && window.first <= window.elements - window.outer;
  const bool is_placed = window.first <= 0 && -window.first <= window.outer - window.elements;
  if (is_slice) {
    parts_.push_back({.whole = elements, .part = factor, .begin = window.first, .end = window.first + window.outer});
  } else if (is_placed) {
    parts_.push_back(
        {.whole = factor, .part = elements, .begin = -window.first, .end = window.elements - window.first});
  } else {
    Fix(factor);
    Fix(elements);
    return -1;
  }
  return static_cast<int>(parts_.size()) - 1;
}

int SizeClasses::AddSlide(const InputWindow& entry, const Op& op, int factor, int elements) {
  const bool over_input = entry.cause == WindowCause::kKernel;
  Slide slide = {.elements = over_input ? elements : factor,
                 .places = over_input ? factor : elements,
                 .taps = entry.taps < 0 ? -1 : Node(op.id, entry.taps),
                 .original = entry.sliding,
                 .sliding = entry.sliding,
                 .rest = 0};
  slide.rest = Class(slide.elements).original - entry.sliding.InputSize(Class(slide.places).original);
  slides_.push_back(slide);
  return static_cast<int>(slides_.size()) - 1;
}

// Of n elements cut into p pieces the largest has ceil(n / p): as many as a kernel of one element and stride p has
// places.
void SizeClasses::AddLargestPiece(const Sliding& sliding, int elements, int largest) {
  slides_.push_back({.elements = elements,
                     .places = largest,
                     .taps = -1,
                     .original = sliding,
                     .sliding = sliding,
                     .rest = Class(elements).original - sliding.InputSize(Class(largest).original),
                     .attempt = kSlidings});
}

void SizeClasses::AddReader(int slide, Reader& first) {
  if (first.slide < 0) first.slide = slide;
  Slide& a = slides_[static_cast<size_t>(first.slide)];
  Slide& b = slides_[static_cast<size_t>(slide)];
  // Two kernels through which the same elements are seen stay as they are.
  if (a.original != b.original || (a.taps < 0) != (b.taps < 0)) a.attempt = b.attempt = kSlidings;
}

std::vector<int> SizeClasses::Nodes(OpId op, const FactorList& factors) const {
  std::vector<int> nodes;
  for (int factor : factors) nodes.push_back(Node(op, factor));
  return nodes;
}

void SizeClasses::Tie(std::vector<int> a, std::vector<int> b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty()) {  // A broadcast dimension: size 1.
    for (int node : b) Fix(node);
    return;
  }
  const bool alike = a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](int x, int y) {
                       return Class(x).original == Class(y).original;
                     });
  if (alike) {
    for (size_t i = 0; i < a.size(); ++i) Unite(a[i], b[i]);
  } else if (a.size() == 1) {
    products_.push_back({.whole = a.front(), .parts = b});
  } else {
    for (int node : a) Fix(node);
    for (int node : b) Fix(node);
  }
}

int SizeClasses::Root(int node) const {
  while (parent_[static_cast<size_t>(node)] != node) node = parent_[static_cast<size_t>(node)];
  return node;
}

void SizeClasses::Unite(int a, int b) {
  a = Root(a);
  b = Root(b);
  if (a == b) return;
  SizeClass& kept = classes_[static_cast<size_t>(a)];
  const SizeClass& other = classes_[static_cast<size_t>(b)];
  kept.fixed |= other.fixed;
  kept.is_segment &= other.is_segment;
  kept.is_linear |= other.is_linear;
  kept.cuts.insert(other.cuts.begin(), other.cuts.end());
  kept.divisor = std::lcm(kept.divisor, other.divisor);
  parent_[static_cast<size_t>(b)] = a;
}

void SizeClasses::UniteEqualParts() {
  // What is united may itself be a whole, whose parts are then united too.
  for (bool united = true; united;) {
    united = false;
    std::map<std::pair<int, std::vector<int64_t>>, const Product*> firsts;  // By the whole and the sizes of the parts.
    for (const Product& product : products_) {
      std::vector<int64_t> sizes;
      for (int part : product.parts) sizes.push_back(Class(part).original);
      const Product& first = *firsts.insert({{Root(product.whole), std::move(sizes)}, &product}).first->second;
      for (size_t i = 0; i < product.parts.size(); ++i) {
        united |= Root(product.parts[i]) != Root(first.parts[i]);
        Unite(product.parts[i], first.parts[i]);
      }
    }
  }
}

void SizeClasses::AddSegments() {
  std::map<int, std::vector<Part*>> parts_of;
  for (Part& part : parts_) parts_of[Root(part.whole)].push_back(&part);
  for (const auto& [whole, parts] : parts_of) {
    std::set<int64_t> places = {0, Class(whole).original};
    for (const Part* part : parts) places.insert({part->begin, part->end});
    std::map<int64_t, int> index;  // By place: the number of segments in front of it.
    std::vector<int> segments;
    for (auto place = places.begin(); place != places.end(); ++place) {
      index[*place] = static_cast<int>(segments.size());
      if (const auto next = std::next(place); next != places.end()) {
        segments.push_back(AddNode(*next - *place, /*fixed=*/false));
        classes_.back().is_segment = true;
      }
    }
    sums_.push_back({.whole = whole, .segments = segments});
    for (Part* part : parts) {
      const auto begin = segments.begin() + index[part->begin];
      const auto end = segments.begin() + index[part->end];
      part->before.assign(segments.begin(), begin);
      if (end - begin == 1) {
        Unite(part->part, *begin);
      } else {
        sums_.push_back({.whole = part->part, .segments = {begin, end}});
      }
    }
  }
}

void SizeClasses::AddCut(OpId op, int factor, int64_t pieces, int64_t new_pieces) {
  Class(Node(op, factor)).cuts.insert({pieces, new_pieces});
  for (auto entry = windows_.lower_bound({op, 0, 0}); entry != windows_.end(); ++entry) {
    if (std::get<0>(entry->first) != op) break;
    if (entry->second.factor == Node(op, factor)) Class(entry->second.elements).cuts.insert({pieces, new_pieces});
  }
}

void SizeClasses::AddDivisor(OpId op, int factor, int64_t pieces) {
  int64_t& divisor = Class(Node(op, factor)).divisor;
  divisor = std::lcm(divisor, pieces);
}

// How many of the cuts treat `size` as they treated the original size: the new numbers of pieces divide it or not, and
// it is smaller than, equal to or larger than them.
int64_t SizeClasses::KeptCuts(const SizeClass& size_class, int64_t size) {
  const auto sign = [](int64_t value) { return (value > 0) - (value < 0); };
  return std::count_if(size_class.cuts.begin(), size_class.cuts.end(), [&](const std::pair<int64_t, int64_t>& cut) {
    const auto [pieces, new_pieces] = cut;
    if (new_pieces == 1) return true;
    return (size_class.original % pieces == 0) == (size % new_pieces == 0) &&
           sign(size_class.original - pieces) == sign(size - new_pieces);
  });
}

// The smallest multiple of the divisor from `least` on that keeps all cuts, or as many as any. On a shortened mesh not
// all can always be kept: 4 and 8 pieces may both have become 3.
int64_t SizeClasses::SmallSize(const SizeClass& size_class, int64_t least) const {
  if (size_class.is_linear && is_relaxed_) {
    return (least + size_class.divisor - 1) / size_class.divisor * size_class.divisor;
  }
  const int64_t step = size_class.modulus;
  const int64_t first = least + (size_class.original - least) % step;
  // Whether cuts are kept repeats with the period of all numbers of pieces.
  constexpr int64_t kLongestPeriod = 4096;
  int64_t period = step;
  int64_t most_pieces = 1;
  for (const auto& [pieces, new_pieces] : size_class.cuts) {
    period = std::min(std::lcm(period, new_pieces), kLongestPeriod);
    most_pieces = std::max(most_pieces, new_pieces);
  }
  const int64_t last = SumUpTo(size_class.original, first, most_pieces + period);
  int64_t best = size_class.original;
  int64_t most_kept = -1;
  for (int64_t size = first; size <= last; size += step) {
    if (size % size_class.divisor != 0) continue;
    const int64_t kept = KeptCuts(size_class, size);
    if (kept <= most_kept) continue;
    best = size;
    most_kept = kept;
    if (kept == static_cast<int64_t>(size_class.cuts.size())) break;
  }
  return best;
}

void SizeClasses::ChooseModuli() {
  for (const Sum& sum : sums_) {
    Class(sum.whole).is_linear = true;
    for (int segment : sum.segments) Class(segment).is_linear = true;
  }
  for (const Slide& slide : slides_) {
    Class(slide.elements).is_linear = true;
    Class(slide.places).is_linear = true;
    Class(slide.elements).is_slid = Class(slide.places).is_slid = true;
  }
  std::vector<int64_t> moduli(classes_.size(), 1);  // By root node.
  const auto modulus_of = [&](int node) -> int64_t& { return moduli[static_cast<size_t>(Root(node))]; };
  constexpr int64_t kLargestModulus = 64;
  bool is_raised = false;
  const auto raise = [&](int node, int64_t divisor) {
    const int64_t raised = std::min(std::lcm(modulus_of(node), divisor), kLargestModulus);
    is_raised |= raised != modulus_of(node);
    modulus_of(node) = raised;
  };
  for (size_t node = 0; node < classes_.size(); ++node) {
    for (const auto& [pieces, new_pieces] : classes_[node].cuts) {
      is_shortened_ |= pieces != new_pieces;
      raise(static_cast<int>(node), new_pieces);
    }
  }
  if (is_shortened_) return;
  do {
    is_raised = false;
    // Any size of a sum may have to grow by as much as another one, so all of them take the same steps.
    for (const Sum& sum : sums_) {
      for (int segment : sum.segments) raise(sum.whole, modulus_of(segment));
      for (int segment : sum.segments) raise(segment, modulus_of(sum.whole));
    }
    // Elements follow from places, times the stride.
    for (const Slide& slide : slides_) {
      const int64_t modulus = modulus_of(slide.elements);
      raise(slide.places, modulus / std::gcd(modulus, slide.original.stride));
    }
    // A part need not bring what the parts in front of it have in common with the modulus.
    for (const Product& product : products_) {
      int64_t modulus = modulus_of(product.whole);
      for (int part : product.parts) {
        raise(part, modulus);
        modulus /= std::gcd(modulus, Class(part).original);
      }
    }
  } while (is_raised);
  for (size_t node = 0; node < classes_.size(); ++node) {
    if (classes_[node].is_linear) classes_[node].modulus = moduli[node];
  }
}

bool SizeClasses::Relax() {
  if (is_relaxed_ || !is_shortened_) return false;
  is_relaxed_ = true;
  return true;
}

void SizeClasses::ChooseSizes() {
  for (Product& product : products_) {
    // The whole is cut as its most major part that is larger than 1 is cut, where that is possible.
    const auto major =
        std::find_if(product.parts.begin(), product.parts.end(), [this](int part) { return Class(part).original > 1; });
    if (major == product.parts.end()) continue;
    SizeClass& part = Class(*major);
    for (const auto& cut : Class(product.whole).cuts) {
      if (part.original % cut.first == 0) part.cuts.insert(cut);
    }
  }
  ChooseModuli();
  while (!ChooseSlidings() || !SolveAll()) {
  }
}

bool SizeClasses::ChooseSlidings() {
  for (SizeClass& size_class : classes_) {
    size_class.is_given = false;
    // Two and three alternate, so that dimensions that were mixed up seldom have the same size.
    // Not where strides would multiply the difference.
    const int64_t start = size_class.is_segment ? 1 : size_class.is_slid ? 2 : 2 + (size_class.original / 2) % 2;
    size_class.size =
        size_class.fixed || start >= size_class.original ? size_class.original : SmallSize(size_class, start);
  }
  for (Slide& slide : slides_) {
    slide.sliding = slide.original;
    if (slide.taps < 0) {
      slide.sliding = SmallSliding(slide.original, slide.attempt);
      continue;
    }
    SizeClass& taps = Class(slide.taps);
    // A kernel of one element stays one, whatever its stride and padding become.
    if (taps.fixed && taps.original > 1) continue;
    do {
      slide.sliding = SmallSliding(slide.original, slide.attempt);
    } while (KeptCuts(taps, slide.sliding.kernel) < static_cast<int64_t>(taps.cuts.size()) &&
             slide.attempt++ < kSlidings);
    if (taps.is_given && taps.size != slide.sliding.kernel) {
      Fix(slide.taps);
      return false;
    }
    taps.size = slide.sliding.kernel;
    taps.is_given = true;
  }
  return true;
}

bool SizeClasses::TryAnother(const Slide& slide) {
  if (slide.sliding == slide.original) return false;
  // The op and its gradients have the same kernel.
  const Slide pattern = slide;
  for (Slide& other : slides_) {
    const bool shares_taps = pattern.taps >= 0 && other.taps >= 0 && Root(other.taps) == Root(pattern.taps);
    const bool shares_sizes =
        Root(other.elements) == Root(pattern.elements) && Root(other.places) == Root(pattern.places);
    if ((shares_taps || shares_sizes) && other.original == pattern.original)
      other.attempt = std::max(other.attempt, pattern.attempt + 1);
  }
  return true;
}

void SizeClasses::Fix(int node) {
  SizeClass& size_class = Class(node);
  size_class.fixed = true;
  size_class.is_given = false;
  size_class.size = size_class.original;
}

bool SizeClasses::Grow(int node, int64_t least) {
  SizeClass& size_class = Class(node);
  if (size_class.size >= least) return true;
  if (size_class.fixed || size_class.is_given || least > size_class.original) return false;
  size_class.size = SmallSize(size_class, least);
  changed_ = true;
  return true;
}

bool SizeClasses::Solve(const Product& product) {
  int64_t size = 1;
  for (int part : product.parts) size = ProductUpTo(kMost, size, Class(part).size);
  if (!Grow(product.whole, size)) return false;
  const int64_t whole = Class(product.whole).size;
  if (whole == size) return true;
  return std::any_of(product.parts.begin(), product.parts.end(), [&](int part) {
    const int64_t others = size / Class(part).size;
    return Grow(part, whole / others + (whole % others != 0 ? 1 : 0));
  });
}

bool SizeClasses::Solve(const Sum& sum) {
  int64_t size = 0;
  for (int segment : sum.segments) size = SumUpTo(kMost, size, Class(segment).size);
  if (!Grow(sum.whole, size)) return false;
  const int64_t lacking = Class(sum.whole).size - size;
  if (lacking == 0) return true;
  // The longest grows, best one whose size is no dimension's.
  std::vector<int> order = sum.segments;
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    return std::pair(Class(a).is_segment, Class(a).original) > std::pair(Class(b).is_segment, Class(b).original);
  });
  return std::any_of(order.begin(), order.end(),
                     [&](int segment) { return Grow(segment, SumUpTo(kMost, Class(segment).size, lacking)); });
}

bool SizeClasses::Solve(const Slide& slide) {
  const Sliding& sliding = slide.sliding;
  const bool is_original = sliding == slide.original;
  const int64_t least_rest = is_original ? slide.rest : slide.rest > 0 ? 1 : 0;
  const int64_t most_rest = is_original ? slide.rest : slide.rest > 0 ? sliding.stride - 1 : 0;
  if (!Grow(slide.elements, sliding.InputSize(Class(slide.places).size) + least_rest)) return false;
  const int64_t more = Class(slide.elements).size - sliding.InputSize(1) - most_rest;
  const int64_t places = 1 + (more <= 0 ? 0 : more / sliding.stride + (more % sliding.stride != 0 ? 1 : 0));
  return Grow(slide.places, places);
}

bool SizeClasses::SolveAll() {
  // A chain of equations is settled in as many rounds as it is long, and sizes settle within a few more.
  const size_t rounds = 100 + products_.size() + sums_.size() + slides_.size();
  for (size_t round = 0; round <= rounds; ++round) {
    changed_ = false;
    const bool is_last = round == rounds;
    // Fixes the sizes of an equation that does not hold, or that still changes when all should be settled.
    const auto settle = [&](const auto& equation, const std::vector<int>& sizes) {
      if (Solve(equation) && !(is_last && changed_)) return true;
      if (Relax()) return false;
      for (int node : sizes) Fix(node);
      return false;
    };
    for (const Sum& sum : sums_) {
      std::vector<int> sizes = sum.segments;
      sizes.push_back(sum.whole);
      if (!settle(sum, sizes)) return false;
    }
    for (const Slide& slide : slides_) {
      if (Solve(slide) && !(is_last && changed_)) continue;
      if (Relax() || TryAnother(slide)) return false;
      Fix(slide.elements);
      Fix(slide.places);
      if (slide.taps >= 0) Fix(slide.taps);
      return false;
    }
    for (const Product& product : products_) {
      std::vector<int> sizes = product.parts;
      sizes.push_back(product.whole);
      if (!settle(product, sizes)) return false;
    }
    if (!changed_) return true;
  }
  CLEAVE_UNREACHABLE();
}

int64_t SizeClasses::BeginOf(int part) const {
  int64_t begin = 0;
  for (int segment : parts_[static_cast<size_t>(part)].before) begin += Class(segment).size;
  return begin;
}

Rule SizeClasses::Resized(OpId op, const Rule& rule) const {
  Rule resized = rule;
  for (size_t s = 0; s < rule.selections.size(); ++s) resized.selections[s].begin = BeginOf(selections_.at(op)[s]);
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    resized.factors[f].size = Class(Node(op, static_cast<int>(f))).size;
  }
  for (InputWindow& entry : resized.windows) {
    const WindowedInput& windowed = windows_.at({op, entry.input, entry.dimension});
    const int factor = rule.inputs[static_cast<size_t>(entry.input)][static_cast<size_t>(entry.dimension)].front();
    const int64_t outer = resized.factors[static_cast<size_t>(factor)].size;
    const int64_t elements = Class(windowed.elements).size;
    switch (entry.cause) {
      case WindowCause::kShift: {
        if (windowed.part < 0) break;
        int64_t offset = BeginOf(windowed.part);
        if (elements < outer) offset = -offset;
        entry.window = {.elements = elements, .outer = outer, .first = offset, .last = offset};
        break;
      }
      case WindowCause::kKernel:
        entry.sliding = slides_[static_cast<size_t>(windowed.slide)].sliding;
        entry.window = entry.sliding.OverInput(elements, outer);
        break;
      case WindowCause::kPlaces:
        entry.sliding = slides_[static_cast<size_t>(windowed.slide)].sliding;
        entry.window = entry.sliding.OverOutput(outer, elements);
        break;
      case WindowCause::kPieces:
        entry.window.elements = entry.window.numerator = elements;
        entry.window.last = elements - outer;
        break;
      case WindowCause::kPieceOf:
        entry.window.outer = entry.window.denominator = outer;
        break;
    }
  }
  return resized;
}

}  // namespace cleave::ir
