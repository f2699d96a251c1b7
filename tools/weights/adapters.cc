// Reading guide: WeightAdapter is an adapter here, PeftModule one there. Export and import go from the one to the other
// through a line of the mapping; MergeAdapters adds B A to the weight.
#include "tools/weights/adapters.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/text/text.h"
#include "ir/graph/training/adapters.h"
#include "tools/weights/adapter_tensors.h"
#include "tools/weights/output.h"
#include "tools/weights/peft.h"
#include "tools/weights/rearrange.h"

namespace cleave::tools {
namespace {

using runtime::Error;
using runtime::Result;

constexpr char kWeight[] = ".weight";  // The end of the names of modules' weights.

// The rows of a matrix, or of a vector, for the parts of a weight that are tensors of their own there.
std::vector<float> RowsOf(const std::vector<float>& values, size_t part, size_t parts) {
  const size_t size = values.size() / parts;
  return {values.begin() + static_cast<int64_t>(part * size), values.begin() + static_cast<int64_t>((part + 1) * size)};
}

// The line of the mapping of a weight, and the names of its parts in the other program.
struct Mapped {
  const MappingLine* line = nullptr;
  std::vector<std::string> theirs;
};

Error StackedError(const MappingLine& line, const AdapterTransfer& transfer, const std::string& weight) {
  return AdapterError(absl::StrCat("line ", line.number, " of ", transfer.mapping->name, " puts ", InTicks(weight),
                                   " together of several matrices, and an adapter is of one"));
}

Result<Mapped> MappedOf(const std::string& weight, const AdapterTransfer& transfer) {
  Mapped mapped;
  if (transfer.mapping == nullptr) {
    mapped.theirs = {weight};
    return mapped;
  }
  for (const MappingLine& line : transfer.mapping->lines) {
    const std::optional<NameParts> numbers = line.ours.has_value() ? line.ours->Match(weight) : std::nullopt;
    if (!numbers.has_value()) continue;
    if (!line.stacked_by.empty()) return StackedError(line, transfer, weight);
    mapped.line = &line;
    for (const NamePattern& theirs : line.theirs) mapped.theirs.push_back(theirs.Fill(*numbers));
    return mapped;
  }
  return AdapterError(absl::StrCat("no line of ", transfer.mapping->name, " is of ", InTicks(weight)));
}

// What a line asks for that an adapter cannot have.
std::optional<Error> CheckLine(const MappingLine* line, const WeightAdapter& adapter, const AdapterTransfer& transfer) {
  if (line == nullptr) return std::nullopt;
  const std::string where = absl::StrCat("line ", line->number, " of ", transfer.mapping->name);
  const auto parts = static_cast<int64_t>(line->theirs.size());
  if (!adapter.is_out_first && (parts > 1 || line->is_qkv)) {
    return AdapterError(absl::StrCat(where, " orders the rows of ", InTicks(adapter.weight),
                                     ", which are inputs, and an adapter can be divided by outputs only"));
  }
  if (line->is_qkv && transfer.heads == 0) {
    return AdapterError(absl::StrCat(where, " puts the heads of ", InTicks(adapter.weight),
                                     " in another order: say with `--heads N` how many there are"));
  }
  if (line->is_qkv && adapter.b.rows % (3 * transfer.heads) != 0) {
    return AdapterError(absl::StrCat(where, " finds no query, key and value of ", Plural(transfer.heads, "head"),
                                     " in the rows of ", InTicks(adapter.weight)));
  }
  if (adapter.b.rows % parts != 0) {
    return AdapterError(absl::StrCat(where, " makes ", parts, " equal tensors of ", InTicks(adapter.weight)));
  }
  return std::nullopt;
}

// Whether a weight is [in, out] in the other program.
bool IsInFirstThere(const WeightAdapter& adapter, const MappingLine* line) {
  return adapter.is_out_first == (line != nullptr && line->is_transposed);
}

struct NamedTensor {
  OutputTensor tensor;
  std::vector<float> values;
};

NamedTensor MatrixTensor(std::string name, Matrix matrix) {
  return {{std::move(name), {matrix.rows, matrix.columns}}, std::move(matrix.values)};
}

// The words of PEFT for the modules: the last part of their names where no other matrix there has it, else all of it.
std::vector<std::string> TargetModules(const WeightSource& source, const std::set<std::string>& adapted,
                                       const std::vector<std::string>& modules, const AdapterTransfer& transfer) {
  const auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  std::set<std::string> others;
  for (const WeightTensor& tensor : source.tensors()) {
    if (tensor.shape.size() != 2 || adapted.count(tensor.name) > 0 || IsOfAdapter(tensor, adapted)) continue;
    const Result<Mapped> mapped = MappedOf(tensor.name, transfer);
    if (!mapped.ok()) continue;
    for (const std::string& theirs : mapped.value().theirs) {
      others.insert(last(std::string(absl::StripSuffix(theirs, kWeight))));
    }
  }
  std::set<std::string> targets;
  for (const std::string& module : modules) targets.insert(others.count(last(module)) > 0 ? module : last(module));
  return {targets.begin(), targets.end()};
}

std::optional<Error> WriteTensors(const std::string& path, std::vector<NamedTensor> tensors, bool replaced) {
  std::vector<OutputTensor> outputs;
  for (const NamedTensor& tensor : tensors) outputs.push_back(tensor.tensor);
  Result<WeightOutput> output = WeightOutput::Create(path, outputs, {.is_replaced = replaced});
  if (!output.ok()) return output.error();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (auto error = output.value().Write(i, tensors[i].values)) return error;
  }
  return output.value().Finish();
}

// The name here of a module's weight, its line, and which part of the weight it is.
struct Place {
  std::string weight;
  const MappingLine* line = nullptr;
  size_t part = 0;
};

Result<Place> PlaceOf(const std::string& module, const AdapterTransfer& transfer) {
  const std::string theirs = module + kWeight;
  if (transfer.mapping == nullptr) return Place{theirs, nullptr, 0};
  for (const MappingLine& line : transfer.mapping->lines) {
    for (size_t part = 0; line.ours.has_value() && part < line.theirs.size(); ++part) {
      const std::optional<NameParts> numbers = line.theirs[part].Match(theirs);
      if (numbers.has_value() && !line.stacked_by.empty()) return StackedError(line, transfer, theirs);
      if (numbers.has_value()) return Place{line.ours->Fill(*numbers), &line, part};
    }
  }
  return AdapterError(
      absl::StrCat("no line of ", transfer.mapping->name, " is of ", InTicks(theirs), ", the weight of an adapter"));
}

// The adapters of the modules, as those of the weights here.
Result<std::vector<std::pair<WeightAdapter, const MappingLine*>>> Joined(
    const std::map<std::string, PeftModule>& modules, const PeftConfig& config, const AdapterTransfer& transfer) {
  struct Parts {
    const MappingLine* line = nullptr;
    std::vector<const PeftModule*> modules;
  };
  std::map<std::string, Parts> by_weight;
  for (const auto& [name, module] : modules) {
    const Result<Place> place = PlaceOf(name, transfer);
    if (!place.ok()) return place.error();
    Parts& parts = by_weight[place.value().weight];
    parts.line = place.value().line;
    parts.modules.resize(parts.line == nullptr ? 1 : parts.line->theirs.size());
    parts.modules[place.value().part] = &module;
  }
  std::vector<std::pair<WeightAdapter, const MappingLine*>> adapters;
  for (const auto& [weight, parts] : by_weight) {
    const bool is_transposed = parts.line != nullptr && parts.line->is_transposed;
    WeightAdapter adapter{.weight = weight, .is_out_first = config.is_in_first == is_transposed};
    for (const PeftModule* const module : parts.modules) {
      if (module == nullptr || (!adapter.a.values.empty() && adapter.a.values != module->a.values)) {
        return AdapterError(absl::StrCat(InTicks(weight), " here is ", parts.modules.size(), " weights there by line ",
                                         parts.line->number, " of ", transfer.mapping->name,
                                         ": their adapters can be one if all of them have one, with the same A"));
      }
      adapter.a = module->a;
      adapter.b.rows += module->b.rows;
      adapter.b.columns = module->b.columns;
      adapter.b.values.insert(adapter.b.values.end(), module->b.values.begin(), module->b.values.end());
      adapter.magnitude.insert(adapter.magnitude.end(), module->magnitude.begin(), module->magnitude.end());
    }
    if (auto error = CheckLine(parts.line, adapter, transfer)) return *error;
    if (parts.line != nullptr && parts.line->is_qkv) {
      adapter.b.values = Swapped(adapter.b.values, 3, transfer.heads);
      if (!adapter.magnitude.empty()) adapter.magnitude = Swapped(adapter.magnitude, 3, transfer.heads);
    }
    adapters.emplace_back(std::move(adapter), parts.line);
  }
  return adapters;
}

std::string SettingLine(const ir::AdapterForm& form) {
  const std::string text = ir::AdapterText(form);
  return absl::StrCat("adapt = ", text.substr(0, text.size() - 1), ", on = \"…\");");
}

}  // namespace

bool IsPeftFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(path) / kPeftConfigFile, ignored);
}

Result<std::string> ExportAdapters(const WeightSource& source, const std::string& folder,
                                   const AdapterTransfer& transfer) {
  const Result<ir::AdapterForm> form = FormOf(source);
  if (!form.ok()) return form.error();
  if (!form.value().also.empty()) {
    return AdapterError(absl::StrCat("other parameters were trained too, those that match ", form.value().also,
                                     ", which no adapter has; `cleave weights merge` writes all of them"));
  }
  const std::vector<std::string> weights = AdaptedWeights(source);
  std::vector<NamedTensor> tensors;
  std::vector<std::string> modules;
  bool is_in_first = false;
  for (const std::string& weight : weights) {
    Result<WeightAdapter> read = ReadAdapter(source, weight, form.value());
    if (!read.ok()) return read.error();
    WeightAdapter& adapter = read.value();
    const Result<Mapped> found = MappedOf(weight, transfer);
    if (!found.ok()) return found.error();
    const Mapped& mapped = found.value();
    if (auto error = CheckLine(mapped.line, adapter, transfer)) return *error;
    if (auto error = ShiftMagnitude(source, 1, adapter)) return *error;
    if (mapped.line != nullptr && mapped.line->is_qkv) {
      adapter.b.values = Swapped(adapter.b.values, transfer.heads, 3);
      if (!adapter.magnitude.empty()) adapter.magnitude = Swapped(adapter.magnitude, transfer.heads, 3);
    }
    is_in_first = is_in_first || IsInFirstThere(adapter, mapped.line);
    const size_t parts = mapped.theirs.size();
    for (size_t part = 0; part < parts; ++part) {
      absl::string_view theirs = mapped.theirs[part];
      if (!absl::ConsumeSuffix(&theirs, kWeight)) {
        return AdapterError(absl::StrCat(InTicks(mapped.theirs[part]), " is not called `MODULE", kWeight,
                                         "`, as the weights of PEFT are"));
      }
      modules.emplace_back(theirs);
      const std::string name = absl::StrCat(kPeftRoot, theirs);
      tensors.push_back(MatrixTensor(name + kPeftA, adapter.a));
      tensors.push_back(MatrixTensor(name + kPeftB, {adapter.b.rows / static_cast<int64_t>(parts), adapter.b.columns,
                                                     RowsOf(adapter.b.values, part, parts)}));
      if (adapter.magnitude.empty()) continue;
      std::vector<float> magnitude = RowsOf(adapter.magnitude, part, parts);
      const auto size = static_cast<int64_t>(magnitude.size());
      tensors.push_back({{name + kPeftMagnitude, {size}}, std::move(magnitude)});
    }
  }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{runtime::ExitCode::kEnvironment,
                 absl::StrCat("cannot make the folder ", InTicks(folder), ": ", failed.message())};
  }
  const std::filesystem::path path(folder);
  const size_t count = tensors.size();
  if (auto error = WriteTensors((path / kPeftTensorFile).string(), std::move(tensors), transfer.replaced))
    return *error;
  const std::set<std::string> adapted(weights.begin(), weights.end());
  const std::string config =
      ConfigText({.form = form.value(), .is_in_first = is_in_first}, TargetModules(source, adapted, modules, transfer));
  if (auto error = WriteText((path / kPeftConfigFile).string(), config)) return *error;
  return absl::StrCat(ir::AdapterText(form.value()), " of ", Plural(static_cast<int64_t>(weights.size()), "weight"),
                      ": ", Plural(static_cast<int64_t>(count), "tensor"), " in ", ShownName(folder), "\n");
}

Result<std::string> ImportAdapters(const std::string& folder, const WeightSource* base, const std::string& target,
                                   const AdapterTransfer& transfer) {
  const std::filesystem::path path(folder);
  const Result<PeftConfig> config = ReadConfig((path / kPeftConfigFile).string());
  if (!config.ok()) return config.error();
  const ir::AdapterForm& form = config.value().form;
  const Result<WeightSource> source = WeightSource::Open((path / kPeftTensorFile).string());
  if (!source.ok()) return source.error();
  const Result<std::map<std::string, PeftModule>> modules = ReadModules(source.value(), form);
  if (!modules.ok()) return modules.error();
  auto joined = Joined(modules.value(), config.value(), transfer);
  if (!joined.ok()) return joined.error();
  if (form.has_magnitude && base == nullptr) {
    return Error{runtime::ExitCode::kUsage,
                 "magnitudes are kept as what they are more than the norms of the weights: `--base` names these"};
  }
  std::vector<NamedTensor> tensors;
  std::set<std::string> adapted;
  for (auto& one : joined.value()) {
    WeightAdapter& adapter = one.first;
    if (base != nullptr) {
      const Result<Matrix> weight = ReadWeight(*base, adapter);
      if (!weight.ok()) return weight.error();
      if (auto error = ShiftMagnitude(*base, -1, adapter)) return *error;
    }
    adapted.insert(adapter.weight);
    const auto add = [&](const char* what, const Matrix& matrix) {
      tensors.push_back(
          MatrixTensor(absl::StrCat(adapter.weight, what), adapter.is_out_first ? matrix : matrix.Transpose()));
    };
    add(ir::kAdapterA, adapter.a);
    add(ir::kAdapterB, adapter.b);
    if (adapter.magnitude.empty()) continue;
    const auto size = static_cast<int64_t>(adapter.magnitude.size());
    tensors.push_back({{absl::StrCat(adapter.weight, ir::kAdapterMagnitude), {size}}, std::move(adapter.magnitude)});
  }
  std::vector<OutputTensor> outputs;
  std::vector<const WeightTensor*> copied;
  for (const WeightTensor& tensor : base != nullptr ? base->tensors() : std::vector<WeightTensor>()) {
    if (!tensor.parameter.empty() || !IsReadAsFloat(tensor) || IsOfAdapter(tensor, adapted)) continue;
    copied.push_back(base->Find(tensor.name));
    outputs.push_back({tensor.name, tensor.shape});
  }
  for (const NamedTensor& tensor : tensors) outputs.push_back(tensor.tensor);
  Result<WeightOutput> output = WeightOutput::Create(target, outputs, {.is_replaced = transfer.replaced});
  if (!output.ok()) return output.error();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<float> values;
    if (i >= copied.size()) {
      values = std::move(tensors[i - copied.size()].values);
    } else if (auto error = base->Read(*copied[i], values)) {
      return *error;
    }
    if (auto error = output.value().Write(i, values)) return *error;
  }
  if (auto error = output.value().Finish()) return *error;
  return absl::StrCat("adapters of ", Plural(static_cast<int64_t>(adapted.size()), "weight"), " in ", ShownName(target),
                      "; in the model: `", SettingLine(form), "`\n");
}

Result<std::string> MergeAdapters(const WeightSource& source, const std::string& target, bool replaced) {
  const Result<ir::AdapterForm> form = FormOf(source);
  if (!form.ok()) return form.error();
  const std::vector<std::string> weights = AdaptedWeights(source);
  const std::set<std::string> adapted(weights.begin(), weights.end());
  std::vector<OutputTensor> outputs;
  for (const WeightTensor& tensor : source.tensors()) {
    if (tensor.parameter.empty() && !IsOfAdapter(tensor, adapted)) outputs.push_back({tensor.name, tensor.shape});
  }
  Result<WeightOutput> output = WeightOutput::Create(target, outputs, {.is_replaced = replaced});
  if (!output.ok()) return output.error();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = outputs[i].name;
    if (adapted.count(name) == 0) {
      const Result<std::vector<float>> values = ReadTensor(source, name);
      if (!values.ok()) return values.error();
      if (auto error = output.value().Write(i, values.value())) return *error;
      continue;
    }
    const Result<WeightAdapter> adapter = ReadAdapter(source, name, form.value());
    if (!adapter.ok()) return adapter.error();
    Result<Matrix> weight = ReadWeight(source, adapter.value());
    if (!weight.ok()) return weight.error();
    Matrix& merged = weight.value();
    std::vector<double> row(static_cast<size_t>(merged.columns));
    for (int64_t o = 0; o < merged.rows; ++o) {
      const double norm = form.value().has_magnitude ? NormOfRow(merged, o) : 0;
      float* const values = merged.values.data() + o * merged.columns;
      std::copy(values, values + merged.columns, row.begin());
      for (int64_t r = 0; r < form.value().rank; ++r) {
        const double factor =
            form.value().factor() * adapter.value().b.values[static_cast<size_t>(o * form.value().rank + r)];
        const float* const a = adapter.value().a.values.data() + r * merged.columns;
        for (size_t j = 0; j < row.size(); ++j) row[j] += factor * static_cast<double>(a[j]);
      }
      double growth = 1;
      if (form.value().has_magnitude) {
        double squares = 0;
        for (const double value : row) squares += value * value;
        growth = (norm + adapter.value().magnitude[static_cast<size_t>(o)]) / std::sqrt(squares);
      }
      for (size_t j = 0; j < row.size(); ++j) values[j] = static_cast<float>(growth * row[j]);
    }
    const Matrix written = adapter.value().is_out_first ? std::move(merged) : merged.Transpose();
    if (auto error = output.value().Write(i, written.values)) return *error;
  }
  if (auto error = output.value().Finish()) return *error;
  return absl::StrCat(ir::AdapterText(form.value()), " merged into ",
                      Plural(static_cast<int64_t>(weights.size()), "weight"), " of ",
                      Plural(static_cast<int64_t>(outputs.size()), "tensor"), "\n");
}

}  // namespace cleave::tools
