// What the expansion of a model finds at the places of its text, for editors: the types of expressions and names, the
// ops that compute them, and what names stand for that only a value tells.
//
//   Sightings sightings;
//   Analyze(file, sources, {.sightings = &sightings}, diagnostics);
//   sightings.values().at(place).types   // {"f32[256, 512]"}
//
// Places in texts that are no files of the user (the prelude, `--set`) are not kept. Not thread-safe.
#ifndef CLEAVE_FRONTEND_SIGHTINGS_SIGHTINGS_H_
#define CLEAVE_FRONTEND_SIGHTINGS_SIGHTINGS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/source/source.h"
#include "frontend/value/value.h"
#include "ir/graph/graph.h"
#include "ir/tensor/types/types.h"

namespace cleave::frontend {

// What was found at one place, each time that it was expanded.
struct Sighting {
  std::vector<std::string> types;  // Each once, in the order in which they were found: "f32[8, 64]", "int = 4".
  bool has_more_types = false;     // Than are kept.
  std::vector<std::string> ops;    // The names of the ops that compute it; empty where there are none.

  static constexpr size_t kMostTypes = 8;

  // For Sightings alone.
  std::vector<ir::OpId> ids = {};
  ir::TensorType last = {};
};

struct EarlierSpan {
  bool operator()(const Span& a, const Span& b) const {
    const auto key = [](const Span& span) {
      return std::tuple(span.file.has_value() ? span.file->value() : -1, span.begin, span.end);
    };
    return key(a) < key(b);
  }
};

class Sightings {
 public:
  using Values = std::map<Span, Sighting, EarlierSpan>;
  using Meanings = std::map<Span, Span, EarlierSpan>;

  // The texts of the expansion that begins. Outlive this object's next use.
  void Begin(const SourceSet& sources) { sources_ = &sources; }

  // The expansion is made anew: the ops that were seen are gone.
  void ForgetOps();

  // Of a call that `vmap` maps the ops are made for one element, and replaced after it.
  void EnterMapped() { ++mapped_; }
  void LeaveMapped() { --mapped_; }

  void Saw(Span span, const Value& value, const ir::Graph& graph);

  // The name at `use` is what `definition` declares: a field, or the parameter that an argument names.
  void Means(Span use, Span definition);

  // Takes the names of the ops that were seen: the model has been expanded. What is seen later, in settings and
  // optimizers, is no part of this graph, and gets no ops.
  void NameOps(const ir::Graph& graph);

  // Called by NameOps, long before all mistakes of the model are known.
  void WhenExpanded(std::function<void()> call) { when_expanded_ = std::move(call); }

  const Values& values() const { return values_; }
  const Meanings& meanings() const { return meanings_; }

 private:
  const SourceSet* sources_ = nullptr;
  int mapped_ = 0;
  bool are_ops_named_ = false;
  std::function<void()> when_expanded_;
  Values values_;
  Meanings meanings_;
};

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_SIGHTINGS_SIGHTINGS_H_
