#include "codegen/source/buckets.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

const ir::BufferPlan::Buffer& BufferOfRoot(const Emission& emission, ir::ValueId root) {
  return *emission.storage.buffers.Find(root);
}

// `declared`: by root, the value that gives the buffer its name.
void AddRows(Emission& emission, const LayeredText& text, int step, const std::map<ir::ValueId, ir::ValueId>& declared,
             std::vector<SourceWriter::Commented>& rows) {
  const ir::Bucket& bucket = emission.storage.buckets.at(step);
  // What only the functions of layers name needs no declaration.
  const bool is_of_layer =
      std::all_of(bucket.begin(), bucket.end(), [&](ir::ValueId root) { return text.IsOfLayer(declared.at(root)); });
  if (is_of_layer && emission.buckets.count(step) == 0) return;
  const std::string& name = emission.Bucket(step);
  const ir::DType dtype = emission.value(bucket.front()).type.dtype;
  const absl::string_view type = ElementTypeName(dtype);
  const int64_t begin = BufferOfRoot(emission, bucket.front()).offset;
  rows.push_back(
      {absl::StrCat(type, "* const ", name, " = arena.At<", type, ">(", begin, ");"),
       absl::StrCat(BucketBytes(emission, step), " bytes for ", emission.step(step).name, text.LayersIn(bucket))});
  for (const ir::ValueId root : bucket) {
    if (text.IsOfLayer(declared.at(root))) continue;
    const int64_t place = (BufferOfRoot(emission, root).offset - begin) / ir::ElementSize(dtype).value();
    const ir::ValueId value = declared.at(root);
    rows.push_back({absl::StrCat(type, "* const ", emission.names[value], " = ", name,
                                 place > 0 ? absl::StrCat(" + ", place) : "", ";"),
                    TensorText(emission, value)});
  }
}

}  // namespace

std::set<ir::ValueId> RootsInBuckets(const ir::Storage& storage) {
  std::set<ir::ValueId> roots;
  for (const auto& [step, bucket] : storage.buckets) roots.insert(bucket.begin(), bucket.end());
  return roots;
}

int64_t BucketBytes(const Emission& emission, int step) {
  const ir::Bucket& bucket = emission.storage.buckets.at(step);
  const ir::BufferPlan::Buffer& last = BufferOfRoot(emission, bucket.back());
  return last.offset + last.size.value() - BufferOfRoot(emission, bucket.front()).offset;
}

void EmitBuckets(Emission& emission, const LayeredText& text, SourceWriter& writer) {
  if (emission.storage.buckets.empty()) return;
  writer.Gap();
  writer.Comment("Tensors that one collective sends lie one after another.");
  std::vector<SourceWriter::Commented> rows;
  std::map<ir::ValueId, ir::ValueId> declared;
  for (const ir::ValueId value : emission.names.declared) declared.emplace(*emission.storage.root[value], value);
  for (const auto& [step, bucket] : emission.storage.buckets) AddRows(emission, text, step, declared, rows);
  writer.Table(rows);
}

}  // namespace cleave::codegen
