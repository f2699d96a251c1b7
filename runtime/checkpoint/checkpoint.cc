// Reading guide: IndexText and ParseIndex are the two sides of checkpoint.json; Load reads what a rank needs of each
// shard.
#include "runtime/checkpoint/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "runtime/checkpoint/blocks.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/checkpoint/messages.h"
#include "runtime/checkpoint/slices.h"
#include "runtime/checkpoint/stored_parameters.h"
#include "runtime/device/rounded.h"
#include "runtime/digest/digest.h"
#include "runtime/file/file.h"
#include "runtime/json/json.h"
#include "runtime/json/json_writer.h"
#include "runtime/safetensors/safetensors.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kFormat = 1;
constexpr int64_t kFormatWithBase = 2;
constexpr char kIndex[] = "checkpoint.json";
constexpr char kStep[] = "step_";
constexpr char kUnfinished[] = ".unfinished";
constexpr char kBest[] = "best";
constexpr char kNumbersOf[] = "numbers_of";
constexpr char kScalesOf[] = "scales_of";
constexpr char kType[] = "type";
constexpr char kDigestMember[] = ",\"digest\":\"";

Error InputError(std::string message) { return {ExitCode::kInput, std::move(message)}; }

JsonArray AxesJson(const MeshAxes& axes) {
  JsonArray all;
  for (const std::vector<int>& of_dimension : axes) {
    JsonArray list;
    for (const int axis : of_dimension) list.AddInteger(axis);
    all.Add(list);
  }
  return all;
}

std::string IndexText(const CheckpointFacts& facts, const Mesh& mesh, const std::vector<StateTensor>& state,
                      const std::vector<Shard>& shards) {
  JsonObject settings;
  for (const auto& [name, value] : facts.settings) settings.Add(name, value);
  JsonArray axes;
  for (const MeshAxis& axis : mesh) {
    JsonObject json;
    json.Add("name", axis.name);
    json.AddInteger("size", axis.size);
    axes.Add(json);
  }
  JsonArray tensors;
  for (const StateTensor& tensor : state) {
    const TensorLayout layout = StoredLayout(tensor.layout, mesh);
    JsonObject json;
    json.Add("name", tensor.name);
    json.Add("shape", JsonArray(layout.shape));
    json.Add("axes", AxesJson(layout.axes));
    if (IsInteger(tensor)) json.Add(kType, StoredTypeOf(tensor));
    if (tensor.part.has_value()) json.Add(tensor.part->is_numbers ? kNumbersOf : kScalesOf, tensor.part->matrix);
    if (layout.stage.has_value()) json.Add("stage", JsonArray({layout.stage->axis, layout.stage->index}));
    tensors.Add(json);
  }
  JsonArray files;
  for (const Shard& shard : shards) {
    JsonObject json;
    json.AddInteger("bytes", shard.bytes);
    json.Add("digest", DigestText(shard.digest));
    files.Add(json);
  }
  JsonObject index;
  index.AddInteger("format", facts.base.has_value() ? kFormatWithBase : kFormat);
  index.Add("model", facts.model);
  index.AddInteger("step", facts.step);
  index.Add("seed", std::to_string(facts.seed));  // JSON's numbers are not exact in all readers.
  index.Add("settings", settings);
  if (facts.best.has_value()) {
    JsonObject best;
    best.Add("criterion", facts.best->criterion);
    best.AddInteger("step", facts.best->step);
    best.Add("value", Format("%.17g", facts.best->value));
    best.AddInteger("since", facts.best->since);
    index.Add("best", best);
  }
  if (facts.base.has_value()) {
    JsonArray of_base;
    for (const StateTensor& tensor : facts.base->tensors) {
      JsonObject json;
      json.Add("name", tensor.name);
      json.Add("shape", JsonArray(StoredLayout(tensor.layout, mesh).shape));
      of_base.Add(json);
    }
    JsonObject base;
    base.Add("path", facts.base->path);
    base.Add("beside", facts.base->beside);
    base.Add("digest", facts.base->digest);
    base.Add("tensors", of_base);
    index.Add("base", base);
  }
  index.Add("mesh", axes);
  index.Add("tensors", tensors);
  index.Add("shards", files);
  std::string text = index.Text();
  text.pop_back();
  return text + kDigestMember + DigestOf(text.data(), static_cast<int64_t>(text.size())) + "\"}\n";
}

// Reads an index whose digest is right. Messages are the ends of sentences about the file.
class IndexReader {
 public:
  std::optional<Error> Read(const Json& index) {
    const Result<int64_t> format = IntegerMember(index, "format");
    if (!format.ok()) return format.error();
    if (format.value() != kFormat && format.value() != kFormatWithBase) {
      return InputError(Format("has format %" PRId64 ", and this program reads %" PRId64 " and %" PRId64,
                               format.value(), kFormat, kFormatWithBase));
    }
    Result<std::string> model = StringMember(index, "model");
    const Result<int64_t> step = IntegerMember(index, "step");
    const Result<std::string> seed = StringMember(index, "seed");
    const Result<const Json*> settings = ObjectMember(index, "settings");
    const Result<const Json*> axes = ArrayMember(index, "mesh");
    const Result<const Json*> tensors = ArrayMember(index, "tensors");
    const Result<const Json*> shards = ArrayMember(index, "shards");
    if (!model.ok()) return model.error();
    if (!step.ok()) return step.error();
    if (!seed.ok()) return seed.error();
    for (const Result<const Json*>* member : {&settings, &axes, &tensors, &shards}) {
      if (!member->ok()) return member->error();
    }
    facts.model = std::move(model.value());
    facts.step = step.value();
    facts.seed = std::strtoull(seed.value().c_str(), nullptr, 10);
    for (const auto& [name, value] : settings.value()->members) facts.settings.emplace_back(name, value.text);
    if (const Json* const best = index.Find("best")) {
      if (auto error = ReadBest(*best)) return error;
    }
    if (format.value() == kFormatWithBase) {
      if (auto error = ReadBase(index)) return error;
    }
    for (const Json& axis : axes.value()->items) {
      if (auto error = ReadAxis(axis)) return error;
    }
    for (const Json& tensor : tensors.value()->items) {
      if (auto error = ReadTensor(tensor)) return error;
    }
    for (const Json& shard : shards.value()->items) {
      const Result<int64_t> bytes = IntegerMember(shard, "bytes");
      const Result<std::string> digest = StringMember(shard, "digest");
      if (!bytes.ok()) return bytes.error();
      if (!digest.ok()) return digest.error();
      all_shards.push_back({bytes.value(), std::strtoull(digest.value().c_str(), nullptr, 16)});
    }
    if (static_cast<int64_t>(all_shards.size()) != MeshSize(mesh)) {
      return InputError(Format("lists %zu shards of %" PRId64 " ranks", all_shards.size(), MeshSize(mesh)));
    }
    return std::nullopt;
  }

  CheckpointFacts facts;
  Mesh mesh;
  std::vector<StateTensor> all_tensors;
  std::vector<Shard> all_shards;

 private:
  std::optional<Error> ReadBest(const Json& json) {
    Result<std::string> criterion = StringMember(json, "criterion");
    const Result<int64_t> step = IntegerMember(json, "step");
    const Result<std::string> value = StringMember(json, "value");
    const Result<int64_t> since = IntegerMember(json, "since");
    if (!criterion.ok()) return criterion.error();
    if (!step.ok()) return step.error();
    if (!value.ok()) return value.error();
    if (!since.ok()) return since.error();
    facts.best = {std::move(criterion.value()), std::strtod(value.value().c_str(), nullptr), step.value(),
                  since.value()};
    return std::nullopt;
  }

  std::optional<Error> ReadBase(const Json& index) {
    const Result<const Json*> json = ObjectMember(index, "base");
    if (!json.ok()) return json.error();
    CheckpointBase base;
    for (const auto& [name, text] :
         {std::pair("path", &base.path), std::pair("beside", &base.beside), std::pair("digest", &base.digest)}) {
      Result<std::string> member = StringMember(*json.value(), name);
      if (!member.ok()) return member.error();
      *text = std::move(member.value());
    }
    const Result<const Json*> tensors = ArrayMember(*json.value(), "tensors");
    if (!tensors.ok()) return tensors.error();
    for (const Json& tensor : tensors.value()->items) {
      Result<std::string> name = StringMember(tensor, "name");
      Result<std::vector<int64_t>> shape = IntegersMember(tensor, "shape");
      if (!name.ok()) return name.error();
      if (!shape.ok()) return shape.error();
      base.tensors.push_back({std::move(name.value()), {std::move(shape.value()), {}}});
    }
    all_tensors = base.tensors;
    facts.base = std::move(base);
    return std::nullopt;
  }

  std::optional<Error> ReadAxis(const Json& json) {
    Result<std::string> name = StringMember(json, "name");
    const Result<int64_t> size = IntegerMember(json, "size");
    if (!name.ok()) return name.error();
    if (!size.ok()) return size.error();
    if (size.value() < 1) return InputError("has a mesh axis without ranks");
    mesh.push_back({std::move(name.value()), size.value()});
    return std::nullopt;
  }

  std::optional<Error> ReadTensor(const Json& json) {
    Result<std::string> name = StringMember(json, "name");
    Result<std::vector<int64_t>> shape = IntegersMember(json, "shape");
    const Result<const Json*> axes = ArrayMember(json, "axes");
    if (!name.ok()) return name.error();
    if (!shape.ok()) return shape.error();
    if (!axes.ok()) return axes.error();
    StateTensor tensor = {std::move(name.value()), {std::move(shape.value()), {}}};
    for (const Json& list : axes.value()->items) {
      std::vector<int>& of_dimension = tensor.layout.axes.emplace_back();
      for (const Json& item : list.items) {
        const std::optional<int64_t> axis = JsonInteger(item);
        if (!axis.has_value() || *axis < 0 || *axis >= static_cast<int64_t>(mesh.size())) {
          return InputError(Format("cuts `%s` by an axis that the mesh does not have", tensor.name.c_str()));
        }
        of_dimension.push_back(static_cast<int>(*axis));
      }
    }
    if (tensor.layout.axes.size() > tensor.layout.shape.size()) {
      return InputError(Format("cuts a dimension that `%s` does not have", tensor.name.c_str()));
    }
    if (json.Find(kType) != nullptr) {
      const Result<std::string> type = StringMember(json, kType);
      if (!type.ok()) return type.error();
      if (type.value() == "I32") tensor.values = NoIntegers();
      if (type.value() != StoredTypeOf(tensor)) {
        return InputError(Format("has `%s` of a type that this program does not know", tensor.name.c_str()));
      }
    }
    for (const char* const member : {kNumbersOf, kScalesOf}) {
      if (json.Find(member) == nullptr) continue;
      Result<std::string> matrix = StringMember(json, member);
      if (!matrix.ok()) return matrix.error();
      if (tensor.layout.shape.empty()) return InputError(Format("has `%s` without rows", tensor.name.c_str()));
      tensor.part = MatrixPart{std::move(matrix.value()), tensor.layout.shape.back(), member == kNumbersOf};
    }
    if (json.Find("stage") != nullptr) {
      const Result<std::vector<int64_t>> stage = IntegersMember(json, "stage");
      if (!stage.ok()) return stage.error();
      const std::vector<int64_t>& place = stage.value();
      const bool is_there = place.size() == 2 && place[0] >= 0 && place[0] < static_cast<int64_t>(mesh.size()) &&
                            place[1] >= 0 && place[1] < mesh[static_cast<size_t>(place[0])].size;
      if (!is_there) return InputError(Format("has `%s` in a stage that the mesh does not have", tensor.name.c_str()));
      tensor.layout.stage = {static_cast<int>(place[0]), place[1]};
    }
    all_tensors.push_back(std::move(tensor));
    return std::nullopt;
  }
};

// The step that the name of a checkpoint's folder says; 0 for any other name.
int64_t StepOf(const std::string& name) {
  const std::string number = name.substr(std::min(name.size(), sizeof kStep - 1));
  const int64_t step = std::strtoll(number.c_str(), nullptr, 10);
  return name == kStep + std::to_string(step) ? step : 0;
}

// The folder to which a link beside it leads; the path itself where it is none. The link may lead elsewhere soon.
std::string LinkedFolder(const std::string& path) {
  const std::string link = path.substr(0, path.find_last_not_of('/') + 1);
  const std::string target = LinkTarget(link);
  if (target.empty() || target.find('/') != std::string::npos) return path;
  return link.substr(0, link.rfind('/') + 1) + target;
}

// What a rank reads of one tensor in one shard.
struct Wanted {
  size_t reading;  // Its number.
  Region slice;    // What the shard has of it.
  Region common;   // What the rank holds of that.
};

std::optional<Error> ReadWanted(const SafetensorsFile& file, const std::string& name, const std::string& type,
                                const Wanted& wanted, const Region& held, float* values) {
  const SafetensorsEntry* const entry = file.Find(name);
  const std::string* const digests = file.FindMetadata(name);
  if (entry == nullptr || digests == nullptr || entry->type != type || entry->shape != wanted.slice.size ||
      digests->size() != BlockDigestsLength(entry->bytes)) {
    return InputError(
        Format("`%s` does not hold the part of `%s` that the index expects there", file.path().c_str(), name.c_str()));
  }
  std::vector<int64_t> targets;  // Of the runs, in the rank's piece.
  ForEachRun(Within(wanted.common, held), [&](int64_t target, int64_t, int64_t) { targets.push_back(target); });
  BlockReader reader(file, *entry, *digests);
  std::optional<Error> error;
  size_t run = 0;
  ForEachRun(Within(wanted.common, wanted.slice), [&](int64_t source, int64_t, int64_t count) {
    if (!error.has_value()) error = reader.Read(source, count, values + targets[run]);
    ++run;
  });
  return error;
}

// Matrices in place of what is stored of them. Messages are the ends of sentences about the file.
Result<std::vector<StateTensor>> WithMatrices(const std::vector<StateTensor>& stored) {
  std::vector<StateTensor> tensors;
  std::map<std::string, const StateTensor*> numbers, scales;
  for (const StateTensor& tensor : stored) {
    if (!tensor.part.has_value()) continue;
    const std::string& matrix = tensor.part->matrix;
    if ((tensor.part->is_numbers ? numbers : scales).emplace(matrix, &tensor).second) continue;
    return InputError(Format("has `%s` twice", matrix.c_str()));
  }
  for (const StateTensor& tensor : stored) {
    if (!tensor.part.has_value()) tensors.push_back(tensor);
    if (!tensor.part.has_value() || !tensor.part->is_numbers) continue;
    const std::string& matrix = tensor.part->matrix;
    std::vector<int64_t> of_rows = tensor.layout.shape;
    of_rows.back() = 1;
    if (scales.count(matrix) == 0 || scales.at(matrix)->layout.shape != of_rows) {
      return InputError(Format("does not have the scales of `%s`", matrix.c_str()));
    }
    tensors.push_back({matrix, tensor.layout});
  }
  return tensors;
}

// Something that is read of the shards for a tensor: itself, the matrix of which it is a part, or of a matrix that is
// stored in 8 bits the numbers, and behind them the scales.
struct Reading {
  const StateTensor* tensor;
  ValueSource source;
  bool is_in_place = false;
  bool is_scales = false;
};

// `stored`: what is in the shards.
std::vector<Reading> ReadingsOf(const StateTensor& tensor, const std::vector<StateTensor>& stored) {
  const ValueSource source = SourceOf(tensor);
  std::vector<Reading> readings;
  for (const StateTensor& there : stored) {
    if (there.name == tensor.name) return {{&tensor, {tensor.name, tensor.layout}, IsReadInPlace(tensor)}};
    if (there.name == source.name) readings.push_back({&tensor, source});
    if (!there.part.has_value() || there.part->matrix != source.name) continue;
    ValueSource part = {there.name, source.layout};
    const bool is_scales = !there.part->is_numbers;
    if (is_scales) part.layout = RowsOf({.columns = 1}, std::move(part.layout));
    readings.insert(is_scales ? readings.end() : readings.begin(),
                    {&tensor, std::move(part), /*is_in_place=*/false, is_scales});
  }
  return readings;
}

// Numbers of rows times the scale of each.
void Multiply(const std::vector<float>& scales, std::vector<float>& numbers) {
  const size_t columns = scales.empty() ? 0 : numbers.size() / scales.size();
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= scales[i / columns];
}

bool IsOfBase(const CheckpointFacts& facts, const std::string& name) {
  if (!facts.base.has_value()) return false;
  const std::vector<StateTensor>& tensors = facts.base->tensors;
  return std::any_of(tensors.begin(), tensors.end(), [&](const StateTensor& tensor) { return tensor.name == name; });
}

// Where the base is, as seen from the folder of a checkpoint.
std::string BesideOf(const CheckpointBase& base, const std::string& folder) { return folder + "/../" + base.beside; }

// The base of the checkpoint in a folder, if it is the one that it was.
Result<StoredParameters> OpenBase(const CheckpointBase& base, const std::string& folder) {
  const std::string& path = base.path;
  if (access(path.c_str(), F_OK) != 0) {
    return InputError(
        Format("`%s` needs `%s`, which has the weights that were not trained: it is neither there nor at "
               "`%s`",
               folder.c_str(), path.c_str(), BesideOf(base, folder).c_str()));
  }
  Result<StoredParameters> stored = StoredParameters::Open(path);
  if (!stored.ok()) return stored.error();
  const Result<std::string> digest = stored.value().DigestOf(base.tensors);
  if (!digest.ok()) return digest.error();
  if (digest.value() == base.digest) return stored;
  return InputError(Format("`%s` is not the file with whose weights the training of `%s` began: it has other values",
                           path.c_str(), folder.c_str()));
}

}  // namespace

ValueSource SourceOf(const StateTensor& tensor) {
  if (!tensor.part.has_value()) return {tensor.name, tensor.layout};
  return {tensor.part->matrix, RowsOf(*tensor.part, tensor.layout)};
}

bool IsReadInPlace(const StateTensor& tensor) { return !tensor.part.has_value() && AreWrittenInPlace(tensor.values); }

void SetFrom(const StateTensor& tensor, const Region& piece, const std::vector<float>& read) {
  if (tensor.part.has_value()) return SetPart(*tensor.part, piece, read.data(), tensor.values);
  CopyRounded(read.data(), static_cast<int64_t>(read.size()), tensor.values);
}

struct OpenedBase {
  std::mutex mutex;
  std::optional<StoredParameters> base;
};

std::string CheckpointFolder(const std::string& folder, int64_t step) {
  return folder + "/" + kStep + std::to_string(step);
}

std::string UnfinishedFolder(const std::string& folder, int64_t step) {
  return CheckpointFolder(folder, step) + kUnfinished;
}

std::vector<int64_t> CheckpointSteps(const std::string& folder) {
  std::vector<int64_t> steps;
  for (const std::string& name : NamesIn(folder)) {
    const int64_t step = StepOf(name);
    if (step > 0) steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

bool IsCheckpoint(const std::string& folder) { return access((folder + "/" + kIndex).c_str(), F_OK) == 0; }

std::vector<std::string> CheckpointsIn(const std::string& folder) {
  if (IsCheckpoint(folder)) return {LinkedFolder(folder)};
  std::vector<std::string> folders;
  for (const int64_t step : CheckpointSteps(folder)) folders.push_back(CheckpointFolder(folder, step));
  return folders;
}

void RemoveUnfinished(const std::string& folder) {
  const std::string end = kUnfinished;
  for (const std::string& name : NamesIn(folder)) {
    const bool is_unfinished = name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
    if (is_unfinished && name.rfind(kStep, 0) == 0) RemoveFolder(folder + "/" + name);
  }
}

int64_t LinkedBest(const std::string& folder) { return StepOf(LinkTarget(folder + "/" + kBest)); }

std::optional<Error> LinkBest(const std::string& folder, int64_t step) {
  const std::string link = folder + "/" + kBest;
  if (IsCheckpoint(CheckpointFolder(folder, step))) return ReplaceLink(link, kStep + std::to_string(step));
  if (!LinkTarget(link).empty() && unlink(link.c_str()) != 0) return CannotWrite(link);
  return std::nullopt;
}

std::optional<Error> SetAside(const std::string& folder, int64_t step) {
  const std::string from = CheckpointFolder(folder, step);
  const std::string to = from + ".set_aside";
  RemoveFolder(to);
  return RenameFolder(from, to);
}

Result<Checkpoint> Checkpoint::Open(const std::string& folder) {
  const std::string path = folder + "/" + kIndex;
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  const Result<std::vector<uint8_t>> bytes = ReadFile(path, kMostBytes);
  if (!bytes.ok()) return bytes.error();
  const std::string text(bytes.value().begin(), bytes.value().end());
  const auto wrong = [&](const std::string& what) { return InputError(Format("`%s` %s", path.c_str(), what.c_str())); };
  const size_t end = text.rfind(kDigestMember);
  const std::string expected =
      end == std::string::npos ? "" : kDigestMember + DigestOf(text.data(), static_cast<int64_t>(end)) + "\"}\n";
  if (end == std::string::npos || text.substr(end) != expected) {
    return wrong("is damaged or cut: it does not have its digest");
  }
  const Result<Json> json = ParseJson(text);
  if (!json.ok()) return wrong(json.error().message);
  IndexReader reader;
  if (auto error = reader.Read(json.value())) return wrong(error->message);
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.facts_ = std::move(reader.facts);
  if (std::optional<CheckpointBase>& base = checkpoint.facts_.base) {
    const std::string beside = BesideOf(*base, folder);
    const bool was_moved = access(base->path.c_str(), F_OK) != 0 && access(beside.c_str(), F_OK) == 0;
    if (was_moved) base->path = beside;
  }
  checkpoint.mesh_ = std::move(reader.mesh);
  Result<std::vector<StateTensor>> tensors = WithMatrices(reader.all_tensors);
  if (!tensors.ok()) return wrong(tensors.error().message);
  checkpoint.tensors_ = std::move(tensors.value());
  checkpoint.stored_ = std::move(reader.all_tensors);
  checkpoint.shards_ = std::move(reader.all_shards);
  checkpoint.opened_ = std::make_shared<OpenedBase>();
  return checkpoint;
}

std::vector<StateTensor> Checkpoint::Parameters() const {
  std::vector<StateTensor> parameters;
  for (const StateTensor& tensor : tensors_) {
    const bool is_state = !parameters.empty() && tensor.name.rfind(parameters.back().name + ".", 0) == 0;
    if (!is_state) parameters.push_back(tensor);
  }
  return parameters;
}

std::optional<Error> Checkpoint::CheckFits(const std::vector<StateTensor>& state, const Mesh& mesh) const {
  std::map<std::string, const StateTensor*> stored;
  for (const StateTensor& tensor : tensors_) stored[tensor.name] = &tensor;
  std::vector<std::string> missing, other, unknown;
  std::set<std::string> seen;
  for (const StateTensor& tensor : state) {
    const ValueSource source = SourceOf(tensor);
    if (!seen.insert(source.name).second) continue;
    const auto found = stored.find(source.name);
    if (found == stored.end()) {
      missing.push_back("`" + source.name + "`");
      continue;
    }
    const std::vector<int64_t> shape = StoredLayout(source.layout, mesh).shape;
    if (found->second->layout.shape != shape) {
      other.push_back(Format("`%s` is %s there and %s here", source.name.c_str(),
                             ShapeText(found->second->layout.shape).c_str(), ShapeText(shape).c_str()));
    } else if (IsInteger(*found->second) != IsInteger(tensor)) {
      other.push_back(Format("`%s` is %s there and %s here", source.name.c_str(), StoredTypeOf(*found->second),
                             StoredTypeOf(tensor)));
    }
    stored.erase(found);
  }
  for (const auto& [name, tensor] : stored) unknown.push_back("`" + name + "`");
  if (missing.empty() && other.empty() && unknown.empty()) return std::nullopt;
  std::string text = Format("`%s` is of another model (%s)", folder_.c_str(), facts_.model.c_str());
  if (!other.empty()) text += "; " + Listed(other);
  if (!missing.empty()) text += "; it does not have " + Listed(missing);
  if (!unknown.empty()) text += "; this program does not have " + Listed(unknown);
  return InputError(text);
}

std::optional<Error> Checkpoint::Load(const std::vector<StateTensor>& state, const Mesh& mesh, int64_t rank) const {
  std::vector<StateTensor> own, of_base;
  for (const StateTensor& tensor : state) {
    (IsOfBase(facts_, SourceOf(tensor).name) ? of_base : own).push_back(tensor);
  }
  if (!of_base.empty()) {
    if (auto error = LoadFromBase(of_base, mesh, rank)) return error;
  }
  return LoadOwn(own, mesh, rank);
}

std::optional<Error> Checkpoint::LoadFromBase(const std::vector<StateTensor>& state, const Mesh& mesh,
                                              int64_t rank) const {
  const std::lock_guard<std::mutex> lock(opened_->mutex);
  if (!opened_->base.has_value()) {
    Result<StoredParameters> base = OpenBase(*facts_.base, folder_);
    if (!base.ok()) return base.error();
    opened_->base.emplace(std::move(base.value()));
  }
  return opened_->base->Load(state, mesh, rank);
}

std::optional<Error> Checkpoint::LoadOwn(const std::vector<StateTensor>& state, const Mesh& mesh, int64_t rank) const {
  std::map<std::string, const StateTensor*> stored;
  for (const StateTensor& tensor : stored_) stored[tensor.name] = &tensor;
  std::vector<Reading> readings;
  for (const StateTensor& tensor : state) {
    if (!IsHeldBy(tensor.layout, mesh, rank)) continue;
    for (Reading& reading : ReadingsOf(tensor, stored_)) readings.push_back(std::move(reading));
  }
  std::vector<Region> held;
  std::vector<std::vector<float>> on_host(readings.size());
  std::map<int64_t, std::vector<Wanted>> by_shard;
  for (size_t i = 0; i < readings.size(); ++i) {
    held.push_back(RegionOf(StoredLayout(readings[i].source.layout, mesh), mesh, rank));
    for (int64_t writer = 0; writer < MeshSize(mesh_); ++writer) {
      const std::optional<Region> slice = SliceOf(stored.at(readings[i].source.name)->layout, mesh_, writer);
      const std::optional<Region> common = slice.has_value() ? Common(*slice, held[i]) : std::nullopt;
      if (common.has_value()) by_shard[writer].push_back({i, *slice, *common});
    }
    if (!readings[i].is_in_place) on_host[i].resize(static_cast<size_t>(ElementCount(held[i].size)));
  }
  for (const auto& [writer, all] : by_shard) {
    const std::string path = folder_ + "/" + ShardName(writer);
    const Result<SafetensorsFile> file = SafetensorsFile::Open(path);
    if (!file.ok()) return file.error();
    const Shard& shard = shards_[static_cast<size_t>(writer)];
    if (file.value().header_digest() != shard.digest) {
      return InputError(Format("`%s` is damaged: its header is not the one that the index describes", path.c_str()));
    }
    for (const Wanted& wanted : all) {
      const Reading& reading = readings[wanted.reading];
      float* const values = reading.is_in_place ? reading.tensor->values.As<float>() : on_host[wanted.reading].data();
      const char* const type = StoredTypeOf(*stored.at(reading.source.name));
      if (auto error = ReadWanted(file.value(), reading.source.name, type, wanted, held[wanted.reading], values)) {
        return error;
      }
    }
  }
  for (size_t i = 0; i < readings.size(); ++i) {
    if (readings[i].is_scales) Multiply(on_host[i], on_host[i - 1]);
  }
  for (size_t i = 0; i < readings.size(); ++i) {
    StateTensor tensor = *readings[i].tensor;
    if (readings[i].is_in_place || readings[i].is_scales || on_host[i].empty()) continue;
    if (readings[i].source.name == tensor.name) tensor.part.reset();
    SetFrom(tensor, RegionOf(StoredLayout(tensor.layout, mesh), mesh, rank), on_host[i]);
  }
  return std::nullopt;
}

std::optional<Error> Complete(const std::string& folder, const CheckpointFacts& facts, const Mesh& mesh,
                              const std::vector<StateTensor>& state, const std::vector<Shard>& shards, int64_t keep) {
  const std::string unfinished = UnfinishedFolder(folder, facts.step);
  const std::string index = IndexText(facts, mesh, state, shards);
  Result<NewFile> file = NewFile::Create(unfinished + "/" + kIndex);
  if (!file.ok()) return file.error();
  if (auto error = file.value().Write(0, index.data(), static_cast<int64_t>(index.size()))) return error;
  if (auto error = file.value().Finish()) return error;
  if (auto error = RenameFolder(unfinished, CheckpointFolder(folder, facts.step))) return error;
  // An older best one stays until the link leads elsewhere.
  if (facts.best.has_value() && facts.best->step == facts.step) {
    if (auto error = LinkBest(folder, facts.step)) return error;
  }
  const int64_t best = LinkedBest(folder);
  const std::vector<int64_t> steps = CheckpointSteps(folder);
  for (size_t i = static_cast<size_t>(keep); i < steps.size(); ++i) {
    if (steps[i] == best) continue;
    // What is half removed is not a checkpoint.
    const std::string old = CheckpointFolder(folder, steps[i]);
    if (!RenameFolder(old, old + kUnfinished).has_value()) RemoveFolder(old + kUnfinished);
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
