#include "runtime/checkpoint/writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/checkpoint/blocks.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/checkpoint/slices.h"
#include "runtime/device/rounded.h"
#include "runtime/digest/digest.h"
#include "runtime/safetensors/safetensors.h"
#include "runtime/trace/trace.h"

namespace cleave::runtime {
namespace {

constexpr int64_t kFloat = static_cast<int64_t>(sizeof(float));

}  // namespace

ShardWriter::ShardWriter(std::string folder, std::vector<StateTensor> state, Mesh mesh, int64_t rank)
    : folder_(std::move(folder)), state_(std::move(state)), mesh_(std::move(mesh)), rank_(rank) {
  for (size_t i = 0; i < state_.size(); ++i) {
    const TensorLayout layout = StoredLayout(state_[i].layout, mesh_);
    const std::optional<Region> slice = SliceOf(layout, mesh_, rank);
    if (!slice.has_value()) continue;
    const Region within = Within(*slice, RegionOf(layout, mesh_, rank));
    const int64_t count = ElementCount(within.size);
    // Only the first dimension is cut further.
    const int64_t first = within.begin.empty() ? 0 : within.begin[0] * (count / within.size[0]);
    parts_.push_back({i, *slice, first, count * kFloat});
    bytes_ += count * kFloat;
  }
  copy_.reset(new char[static_cast<size_t>(bytes_)]);
}

ShardWriter::~ShardWriter() {
  if (thread_.joinable()) thread_.join();
}

void ShardWriter::Start(int64_t step) {
  char* to = copy_.get();
  for (const Part& part : parts_) {
    CopyWidened(state_[part.tensor].values + part.first, part.bytes / kFloat, reinterpret_cast<float*>(to));
    to += part.bytes;
  }
  has_ended_ = false;
  thread_ = std::thread([this, path = UnfinishedFolder(folder_, step) + "/" + ShardName(rank_)] {
    result_ = Write(path);
    has_ended_ = true;
  });
}

Result<Shard> ShardWriter::Take() {
  thread_.join();
  return *std::exchange(result_, std::nullopt);
}

// The header stands before the values and has their digests: it is written twice.
Result<Shard> ShardWriter::Write(const std::string& path) {
  const double start = Now();
  std::vector<SafetensorsEntry> entries;
  std::vector<std::pair<std::string, std::string>> digests;
  for (const Part& part : parts_) {
    const std::string& name = state_[part.tensor].name;
    entries.push_back({name, StoredTypeOf(state_[part.tensor]), part.slice.size, 0, part.bytes});
    digests.emplace_back(name, std::string(BlockDigestsLength(part.bytes), '0'));
  }
  const Result<std::string> without_digests = SafetensorsHeader(entries, digests);
  if (!without_digests.ok()) return without_digests.error();
  const int64_t header_bytes = static_cast<int64_t>(without_digests.value().size());

  Result<NewFile> created = NewFile::Create(path);
  if (!created.ok()) return created.error();
  NewFile& file = created.value();
  const char* from = copy_.get();
  int64_t at = header_bytes;
  for (size_t i = 0; i < parts_.size(); ++i) {
    digests[i].second = BlockDigests(from, parts_[i].bytes);
    for (int64_t left = parts_[i].bytes; left > 0;) {
      const int64_t now = std::min(left, kBlockBytes);
      if (auto error = file.Write(at, from, now)) return *error;
      from += now;
      at += now;
      left -= now;
      written_ += now;
    }
  }
  const std::string header = SafetensorsHeader(entries, digests).value();
  if (auto error = file.Write(0, header.data(), header_bytes)) return *error;
  if (auto error = file.Finish()) return *error;
  Digest digest;
  digest.Add(header.data(), header_bytes);
  return Shard{at, digest.Value(), Now() - start};
}

}  // namespace cleave::runtime
