#include "codegen/source/buckets.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace cleave::codegen {
namespace {

const ir::BufferPlan::Buffer& BufferOfRoot(const Emission& emission, ir::ValueId root) {
  return *emission.storage.buffers.Find(root);
}

int64_t BytesOfElement(const Emission& emission, const ir::Bucket& bucket) {
  return ir::ElementSize(emission.value(bucket.front()).type.dtype).value();
}

int64_t BucketBytes(const Emission& emission, const ir::Bucket& bucket) {
  const ir::BufferPlan::Buffer& last = BufferOfRoot(emission, bucket.back());
  return last.offset + last.size.value() - BufferOfRoot(emission, bucket.front()).offset;
}

void AddRows(const Emission& emission, const ir::Bucket& bucket, const std::string& name, const std::string& collective,
             const std::map<ir::ValueId, ir::ValueId>& declared, std::vector<SourceWriter::Commented>& rows) {
  const absl::string_view type = ElementTypeName(emission.value(bucket.front()).type.dtype);
  const int64_t begin = BufferOfRoot(emission, bucket.front()).offset;
  rows.push_back({absl::StrCat(type, "* const ", name, " = arena.At<", type, ">(", begin, ");"),
                  absl::StrCat(BucketBytes(emission, bucket), " bytes for ", collective)});
  for (const ir::ValueId root : bucket) {
    const int64_t place = (BufferOfRoot(emission, root).offset - begin) / BytesOfElement(emission, bucket);
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

int64_t BucketElements(const Emission& emission, int step) {
  const ir::Bucket& bucket = emission.storage.buckets.at(step);
  return BucketBytes(emission, bucket) / BytesOfElement(emission, bucket);
}

void EmitBuckets(Emission& emission, SourceWriter& writer) {
  if (emission.storage.buckets.empty()) return;
  writer.Gap();
  writer.Comment("Tensors that one collective sends lie one after another.");
  std::vector<SourceWriter::Commented> rows;
  std::map<ir::ValueId, ir::ValueId> declared;  // By root.
  for (const ir::ValueId value : emission.names.declared) declared.emplace(*emission.storage.root[value], value);
  for (const auto& [step, bucket] : emission.storage.buckets) {
    AddRows(emission, bucket, emission.Bucket(step), emission.step(step).name, declared, rows);
  }
  writer.Table(rows);
}

}  // namespace cleave::codegen
