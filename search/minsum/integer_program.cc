#include "search/minsum/integer_program.h"

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace cleave::search {
namespace {

struct ModelDeleter {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, ModelDeleter>;

Model Loaded(const IntegerProgram& program) {
  Model model(Cbc_newModel());
  const std::vector<double> lower(program.objective.size(), 0);
  Cbc_loadProblem(model.get(), program.column_count(), static_cast<int>(program.sums.size()), program.starts.data(),
                  program.rows.data(), program.entries.data(), lower.data(), program.upper.data(),
                  program.objective.data(), program.sums.data(), program.sums.data());
  for (int column = 0; column < program.column_count(); ++column) {
    if (program.is_integer[static_cast<size_t>(column)] != 0) Cbc_setInteger(model.get(), column);
  }
  return model;
}

void SetLimits(const ProgramLimits& limits, Cbc_Model* model) {
  const int64_t nodes = std::min<int64_t>(limits.nodes, std::numeric_limits<int>::max());
  const std::pair<const char*, std::string> parameters[] = {
      {"logLevel", "0"},
      {"threads", "0"},
      {"randomSeed", "1"},
      {"randomCbcSeed", "1"},
      {"maxNodes", absl::StrCat(nodes)},
      {"ratioGap", "0"},
      {"allowableGap", "0"},
      {"increment", absl::StrCat(limits.increment)},
      {"primalTolerance", absl::StrCat(kTolerance)},
      {"dualTolerance", absl::StrCat(kTolerance)},
      // It changes objectives, and the primal simplex that follows ends the process at times: an assertion in
      // ClpPrimalColumnSteepest.cpp (Clp 1.17.6) that a column to pivot on has a reduced cost above 0.
      {"feasibilityPump", "off"},
  };
  for (const auto& [name, value] : parameters) Cbc_setParameter(model, name, value.c_str());
  if (!limits.start.empty()) {
    const std::vector<double> ones(limits.start.size(), 1);
    Cbc_setMIPStartI(model, static_cast<int>(ones.size()), limits.start.data(), ones.data());
  }
}

}  // namespace

void IntegerProgram::AddColumn(double cost, bool integer, bool allowed) {
  objective.push_back(cost);
  is_integer.push_back(integer ? 1 : 0);
  upper.push_back(allowed ? 1 : 0);
  if (starts.empty()) starts.push_back(0);
  starts.push_back(starts.back());
}

void IntegerProgram::AddEntry(int row, double entry) {
  rows.push_back(row);
  entries.push_back(entry);
  ++starts.back();
}

ProgramAnswer SolveProgram(const IntegerProgram& program, const ProgramLimits& limits) {
  const Model model = Loaded(program);
  SetLimits(limits, model.get());
  Cbc_solve(model.get());
  ProgramAnswer answer{.is_infeasible = Cbc_isProvenInfeasible(model.get()) != 0,
                       .bound = Cbc_getBestPossibleObjValue(model.get())};
  const double* best = Cbc_bestSolution(model.get());
  if (best != nullptr) {
    answer.bound = std::min(answer.bound, Cbc_getObjValue(model.get()));
  } else {
    best = Cbc_getColSolution(model.get());
  }
  if (best != nullptr) answer.columns.assign(best, best + program.column_count());
  return answer;
}

}  // namespace cleave::search
