// The meaning of a model: turns the syntax tree of a `.model` file into its graph, the settings of its training, and
// the user's demands on a plan. The graph is that of one device; of a `#[manual]` model it is that of one rank
// (ir/graph/manual).
//
//   Diagnostics diagnostics;
//   std::optional<syntax::File> file = Parse(id, sources, diagnostics);
//   std::optional<Module> module = Analyze(*file, sources, {.overrides = {{"batch", "512"}}}, diagnostics);
//
// Functions are expanded at their calls, loops are unrolled, every shape is a number. All mistakes of a file are
// reported together, except those that only follow from another mistake. Deterministic. Thread-safe: there is no shared
// state.
#ifndef CLEAVE_FRONTEND_FRONTEND_H_
#define CLEAVE_FRONTEND_FRONTEND_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic/diagnostic.h"
#include "base/source/source.h"
#include "dsl/syntax/syntax.h"
#include "frontend/contract/contract.h"
#include "frontend/imports/imports.h"
#include "frontend/sightings/sightings.h"
#include "ir/graph/graph.h"
#include "ir/graph/training/training.h"
#include "ir/sharding/pins/pins.h"
#include "ir/transforms/differentiate/differentiate.h"

namespace cleave::frontend {

// A file with C++ bodies of ops that the model defines.
struct CustomFile {
  std::string source;  // The path where it was read.
  std::string text;

  bool operator==(const CustomFile&) const = default;
};

// What a model means. `graph` holds forward and metric ops only (ir/transforms/differentiate adds the rest, `updates`
// among it).
struct Module {
  ir::Graph graph;
  ir::Updates updates;  // What the optimizer makes of its parameters.
  ir::Training training;
  ir::Pins pins;
  std::optional<Contract> contract = {};  // What its `expect` block says.
  // By name, where parameters and inputs name the .npy files with their values.
  std::map<std::string, Span> npy_places = {};
  Span data_place = {};                            // Where `data` is set.
  Span params_place = {};                          // Where it is set.
  Span precision_place = {};                       // Where it is set.
  Span evaluation_place = {};                      // Where `best` is set, else `eval_every`.
  Span validation_place = {};                      // Where it is set.
  std::map<std::string, CustomFile> custom_files;  // By path in the output folder, "custom/soft_cap.h".

  bool operator==(const Module&) const = default;
};

struct FrontendOptions {
  // `--set name=value`: an argument of the model, or a setting of `train` or `parallel`; values are written as in the
  // language (`data=mnist("data/mnist")`), strings may go without quotes. A later one replaces an earlier one.
  std::vector<std::pair<std::string, std::string>> overrides = {};

  // The number of ranks of a manual model: `devices` where they are given, else what its `parallel` block says, else
  // `default_devices`.
  std::optional<int64_t> devices = std::nullopt;
  int64_t default_devices = 1;

  // The target whose bodies of the model's own ops are taken: "cpu" or "cuda".
  std::string target = "cpu";

  // Whether the program generates: the value of `generating`.
  bool generates = false;

  // Values of the model that are wanted besides its loss: names of its `let`s, each of which gets a look (kOutput)
  // whose part is the name. A name that is none of them gets none.
  std::vector<std::string> outputs = {};

  // The folder that relative paths in overrides start from; those in the file are relative to the file. Empty: both are
  // left as they are.
  std::string override_folder = {};

  // For editors; both may be null. `open`: the texts of files that are imported, in place of those on the disk.
  // `sightings` gets what is found at the places of the text, also where it has mistakes.
  const OpenTexts* open = nullptr;
  Sightings* sightings = nullptr;
};

// Nullopt when the file has an error; warnings do not stop it.
std::optional<Module> Analyze(const dsl::syntax::File& file, SourceSet& sources, const FrontendOptions& options,
                              Diagnostics& diagnostics);

}  // namespace cleave::frontend

#endif  // CLEAVE_FRONTEND_FRONTEND_H_
