// Compiles a model's text, with its pins and settings, to the proven program of its ranks.
#ifndef CLEAVE_TESTS_COLLECTIVE_COUNTS_PROGRAMS_H_
#define CLEAVE_TESTS_COLLECTIVE_COUNTS_PROGRAMS_H_

#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "frontend/frontend.h"
#include "ir/program/partition/partition.h"
#include "ir/program/program.h"

namespace cleave::tests {

struct Compiled {
  ir::Graph graph;  // With the backward pass and the update.
  ir::Plan plan;
  ir::Program program;
};

// The module that the frontend makes of `text`, the contents of `path`. Mistakes in it fail the test.
std::optional<frontend::Module> ReadModule(const std::string& text, const std::string& path);

// `module` for `devices`. Mistakes, and a program that is not proven, fail the test.
Compiled CompileModule(const frontend::Module& module, int devices, const ir::PartitionOptions& options = {});

// `text` for `devices`, with the settings of its `parallel` block.
Compiled CompileModel(const std::string& text, int devices, const ir::PartitionOptions& options = {});

// "all_reduce 5, all_gather 1": steps of a training step by kind, those of the loss left out.
std::string CollectivesOf(const Compiled& compiled,
                          std::set<ir::Phase> phases = {ir::Phase::kForward, ir::Phase::kBackward, ir::Phase::kUpdate});

// Bytes that a rank sends in a training step, those of the loss left out.
double SentBytesOf(const Compiled& compiled);

}  // namespace cleave::tests

#endif  // CLEAVE_TESTS_COLLECTIVE_COUNTS_PROGRAMS_H_
