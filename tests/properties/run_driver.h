// The main function of a batch: runs every case's program on the sources in a file and prints the results. Text for
// generated code; @NAMES@ in capitals are replaced. clang-format would lay out a raw string called "cc" as code and
// break these names.
#ifndef CLEAVE_TESTS_PROPERTIES_RUN_DRIVER_H_
#define CLEAVE_TESTS_PROPERTIES_RUN_DRIVER_H_

namespace cleave::tests::properties {

inline constexpr char kDriver[] = R"driver(#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/rounded.h"
#include "runtime/runtime.h"

@PROGRAMS@

using namespace cleave::runtime;

namespace {

using Sources = std::map<std::string, std::vector<double>>;

// Lines "name count values…".
Sources ReadSources(const std::string& path) {
  std::ifstream file(path);
  Sources sources;
  std::string name;
  for (size_t count = 0; file >> name >> count;) {
    std::vector<double>& values = sources[name];
    values.resize(count);
    for (double& value : values) file >> value;
  }
  return sources;
}

template <typename Element>
void Take(const std::vector<double>& whole, const Region& region, Element* local_values) {
  ForEachRun(region, [&](int64_t global, int64_t local, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      local_values[local + i] = static_cast<Element>(whole[static_cast<size_t>(global + i)]);
    }
  });
}

// Two training steps; each prints "<step> <what> <element> <value>" lines.
template <typename Model>
void Run(const std::string& name, int metrics, const Mesh& mesh, Comm& comm, Watch& watch) {
  const Sources sources = ReadSources(name + ".sources");
  const std::vector<int64_t> coordinates = Coordinates(mesh, comm.rank());
  uint64_t step = 1;
  Observer observer(comm);
  const Context context = {comm.rank(), mesh, coordinates, 1, comm, watch, step, observer};
  auto model = std::make_unique<Model>(context);
  model->Initialize();
  const auto region_of = [&](const ParameterView& view) { return RegionOf(view.layout, mesh, comm.rank()); };
  for (const ParameterView& view : model->Parameters()) {
    std::vector<float> values(static_cast<size_t>(ElementCount(region_of(view).size)));
    Take(sources.at(view.name), region_of(view), values.data());
    CopyRounded(values.data(), static_cast<int64_t>(values.size()), view.values);
  }
  model->KeepCopies();
  FILE* out = std::fopen((name + ".out." + std::to_string(comm.rank())).c_str(), "w");
  for (; step <= 2; ++step) {
    for (const ModelInput& input : model->Inputs()) {
      const std::vector<double>& whole = sources.at(input.name);
      if (input.floats != nullptr) Take(whole, input.region, input.floats);
      if (input.integers != nullptr) Take(whole, input.region, input.integers);
    }
    model->RunBatch(/*metrics=*/true, /*gradients=*/true);
    std::fprintf(out, "%d loss 0 %.9g\n", static_cast<int>(step), model->Loss());
    for (int i = 0; i < metrics; ++i) {
      std::fprintf(out, "%d metric_%d 0 %.9g\n", static_cast<int>(step), i, model->Metric(i));
    }
    model->Update({.step = static_cast<int64_t>(step), .learning_rate = @RATE@});
    for (const ParameterView& view : model->Parameters()) {
      std::vector<float> values(static_cast<size_t>(ElementCount(region_of(view).size)));
      CopyWidened(view.values, static_cast<int64_t>(values.size()), values.data());
      ForEachRun(region_of(view), [&](int64_t global, int64_t local, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          std::fprintf(out, "%d %s %d %.9g\n", static_cast<int>(step), view.name.c_str(),
                       static_cast<int>(global + i), values[static_cast<size_t>(local + i)]);
        }
      });
    }
  }
  std::fclose(out);
}

}  // namespace

int main() {
  Watch watch("random.model");
  const Mesh mesh = @MESH@;
  Result<std::unique_ptr<Comm>> comm = Comm::Start(mesh, watch);
  if (!comm.ok()) return 1;
@RUNS@
  return 0;
}
)driver";

}  // namespace cleave::tests::properties

#endif  // CLEAVE_TESTS_PROPERTIES_RUN_DRIVER_H_
