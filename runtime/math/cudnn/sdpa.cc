// Reading guide: a call is prepared once (PrepareCall): it is cut into slices whose workspace is small enough, and each
// has a plan of the library (PreparePlan). Compute runs them. A step asks for the same calls each time, so all of this
// happens before it is recorded (runtime/device/recorded.h).
#include "runtime/math/cudnn/sdpa.h"

#include "runtime/math/cudnn/handle.h"

#if CLEAVE_HAS_CUDNN

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/error/warning.h"
#include "runtime/math/cudnn/sdpa_graph.h"
#include "runtime/math/prepared_list.h"

namespace cleave::runtime {
namespace {

namespace library = cudnn_frontend;

// Beside the arena, at most this; ir/program/memory/workspace.cc has the same number.
constexpr int64_t kLargestWorkspace = int64_t{288} << 20;
constexpr int64_t kElementBytes = 2;
constexpr int64_t kAlignment = 16;  // Bytes that the library reads at once.

// A plan of the library, or why there is none.
struct SdpaPlan {
  SdpaCall call;
  std::unique_ptr<library::graph::Graph> graph;
  int64_t workspace = 0;
  std::string refusal;
};

SdpaPlan PreparePlan(const SdpaCall& call) {
  SdpaPlan plan = {call, std::make_unique<library::graph::Graph>(), 0, ""};
  Describe(call, *plan.graph);
  library::error_t error = plan.graph->build(CudnnHandle(), {library::HeurMode_t::A});
  if (error.is_good()) error = plan.graph->get_workspace_size(plan.workspace);
  if (error.is_bad()) {
    plan.refusal = error.get_message();
    plan.refusal = plan.refusal.substr(0, plan.refusal.find('\n'));
  }
  return plan;
}

const SdpaPlan& PlanOf(const SdpaCall& call) {
  thread_local auto& all = *new PreparedList<SdpaPlan>;
  return all.Get([&](const SdpaPlan& known) { return known.call == call; }, [&] { return PreparePlan(call); });
}

// Some samples and key heads of a call, with the heads that see them.
struct SdpaSlice {
  int64_t sample = 0;
  int64_t key_head = 0;
  const SdpaPlan* plan = nullptr;
};

struct PreparedSdpa {
  SdpaCall call;
  std::vector<SdpaSlice> slices;
  int64_t workspace = 0;  // Of the slice that takes most.
  std::string refusal = "";
};

// What the library must not be asked. It checks what it can know itself.
std::string RefusalOf(const SdpaCall& call) {
  const AttentionShape& shape = call.shape;
  constexpr int64_t kUnit = kAlignment / kElementBytes;
  bool is_aligned = shape.head % kUnit == 0 && shape.ValueHead() % kUnit == 0;
  std::vector<AttentionStrides> all = {shape.q, shape.k, shape.v, shape.out};
  if (call.part == SdpaPart::kGradient) all.insert(all.end(), {shape.dout, shape.dq, shape.dk, shape.dv});
  for (const AttentionStrides& strides : all) {
    for (const int64_t stride : {strides.batch, strides.head, strides.row}) is_aligned &= stride % kUnit == 0;
  }
  if (!is_aligned) return "its rows do not begin at multiples of 16 bytes";
  if (shape.causal && shape.first_row < 0) return "some queries see no key";
  if (shape.zigzag.pairs > 0) return "queries lie in zigzag order";
  if (shape.first != nullptr) return "each query has a range of keys";
  if (shape.cap != 0.0f) return "scores are between caps";
  if (shape.bias.values != nullptr) return "scores have a bias by distance";
  if (shape.dropout.rate != 0.0f) return "weights are dropped by numbers of another generator";
  if (shape.window > 0 && !IsDiagonal(shape)) return "the window is not beside the diagonal";
  return "";
}

int64_t HalfOf(int64_t size) { return (size + 1) / 2; }

PreparedSdpa PrepareCall(const SdpaCall& call) {
  PreparedSdpa prepared = {call, {}};
  prepared.refusal = RefusalOf(call);
  if (!prepared.refusal.empty()) return prepared;
  const int64_t heads_per_key_head = call.shape.heads / call.shape.key_heads;
  const auto plan_of = [&](int64_t samples, int64_t key_heads) -> const SdpaPlan& {
    SdpaCall slice = call;
    slice.shape.batch = samples;
    slice.shape.key_heads = key_heads;
    slice.shape.heads = key_heads * heads_per_key_head;
    return PlanOf(slice);
  };
  int64_t samples = call.shape.batch;
  int64_t key_heads = call.shape.key_heads;
  while (true) {
    const SdpaPlan& plan = plan_of(samples, key_heads);
    prepared.refusal = plan.refusal;
    if (!plan.refusal.empty()) return prepared;
    if (plan.workspace <= kLargestWorkspace) break;
    // A plan takes long to make, and what it takes of workspace is in proportion to the heads: most are left out.
    for (int64_t bytes = plan.workspace; bytes > kLargestWorkspace; bytes = HalfOf(bytes)) {
      if (samples == 1 && key_heads == 1) {
        prepared.refusal = Format("one head would take %lld MiB of workspace", static_cast<long long>(bytes >> 20));
        return prepared;
      }
      (samples > 1 ? samples : key_heads) = HalfOf(samples > 1 ? samples : key_heads);
    }
  }
  for (int64_t sample = 0; sample < call.shape.batch; sample += samples) {
    for (int64_t key_head = 0; key_head < call.shape.key_heads; key_head += key_heads) {
      const SdpaPlan& plan =
          plan_of(std::min(samples, call.shape.batch - sample), std::min(key_heads, call.shape.key_heads - key_head));
      prepared.refusal = plan.refusal;
      if (!plan.refusal.empty()) return prepared;
      prepared.slices.push_back({sample, key_head, &plan});
      prepared.workspace = std::max(prepared.workspace, plan.workspace);
    }
  }
  return prepared;
}

// The place of each tensor; those that the library only reads too.
using Places = std::unordered_map<int64_t, void*>;

// Where the tensors of a slice begin.
Places PlacesIn(const AttentionShape& shape, const SdpaSlice& slice, const Places& whole) {
  const int64_t head = slice.key_head * (shape.heads / shape.key_heads);
  Places places;
  for (const auto& [number, place] : whole) {
    const auto tensor = static_cast<SdpaTensor>(number);
    auto* const bytes = static_cast<std::byte*>(place);
    if (tensor == kLogsumexp) {
      const int64_t row = (slice.sample * shape.heads + head) * shape.rows;
      places[number] = bytes + row * static_cast<int64_t>(sizeof(float));
      continue;
    }
    const AttentionStrides& strides = StridesOf(shape, tensor);
    const int64_t element = slice.sample * strides.batch + (IsOfKeys(tensor) ? slice.key_head : head) * strides.head;
    places[number] = bytes + element * kElementBytes;
  }
  return places;
}

std::string TextOf(const SdpaCall& call) {
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  const AttentionShape& shape = call.shape;
  const std::string of_values =
      shape.ValueHead() == shape.head ? "" : Format(", and of %lld in values", number(shape.ValueHead()));
  return Format("%s %lld x %lld queries and %lld keys with %lld heads (%lld) of %lld elements%s",
                call.part == SdpaPart::kGradient ? "gradients of attention of" : "attention of", number(shape.batch),
                number(shape.rows), number(shape.columns), number(shape.heads), number(shape.key_heads),
                number(shape.head), of_values.c_str());
}

bool Refused(const SdpaCall& call, const std::string& why) {
  FallBack("attention", [&] { return Format("cuDNN does not compute %s: %s", TextOf(call).c_str(), why.c_str()); });
  return false;
}

bool Compute(const SdpaCall& call, const Places& places) {
  const AttentionShape& shape = call.shape;
  if (shape.batch * shape.heads * shape.rows * shape.columns * shape.head * shape.ValueHead() == 0) return false;
  for (const auto& [number, place] : places) {
    if (place == nullptr) return Refused(call, "not all of its results are wanted");
    if (reinterpret_cast<uintptr_t>(place) % kAlignment != 0) {
      return Refused(call, "its tensors do not begin at multiples of 16 bytes");
    }
  }
  thread_local auto& all = *new PreparedList<PreparedSdpa>;
  const PreparedSdpa& prepared =
      all.Get([&](const PreparedSdpa& known) { return known.call == call; }, [&] { return PrepareCall(call); });
  if (!prepared.refusal.empty()) return Refused(call, prepared.refusal);
  Scratch scratch;
  void* const workspace = prepared.workspace == 0 ? nullptr : scratch.AtLeast(prepared.workspace);
  const cudnnHandle_t handle = CudnnHandle();
  for (const SdpaSlice& slice : prepared.slices) {
    Places own = PlacesIn(shape, slice, places);
    library::error_t error = slice.plan->graph->execute(handle, own, workspace);
    if (error.is_bad()) {
      Die(ExitCode::kFailed,
          Format("cuDNN failed in %s: %s", TextOf(call).c_str(), std::string(error.get_message()).c_str()));
    }
  }
  return true;
}

void* Writable(const void* place) { return const_cast<void*>(place); }

}  // namespace

bool AttentionByLibrary(SdpaType type, const AttentionShape& shape, const void* q, const void* k, const void* v,
                        void* out, float* logsumexp) {
  Places places = {{kQuery, Writable(q)}, {kKey, Writable(k)}, {kValue, Writable(v)}, {kResult, out}};
  if (logsumexp != nullptr) places[kLogsumexp] = logsumexp;
  return Compute({type, logsumexp == nullptr ? SdpaPart::kResult : SdpaPart::kResultAndLogsumexp, shape}, places);
}

bool AttentionGradientByLibrary(SdpaType type, const AttentionShape& shape, const void* q, const void* k, const void* v,
                                const void* out, const float* logsumexp, const void* dout, void* dq, void* dk,
                                void* dv) {
  return Compute({type, SdpaPart::kGradient, shape}, {{kQuery, Writable(q)},
                                                      {kKey, Writable(k)},
                                                      {kValue, Writable(v)},
                                                      {kResult, Writable(out)},
                                                      {kLogsumexp, Writable(logsumexp)},
                                                      {kDResult, Writable(dout)},
                                                      {kDQuery, dq},
                                                      {kDKey, dk},
                                                      {kDValue, dv}});
}

}  // namespace cleave::runtime

#else

namespace cleave::runtime {

bool AttentionByLibrary(SdpaType, const AttentionShape&, const void*, const void*, const void*, void*, float*) {
  return false;
}

bool AttentionGradientByLibrary(SdpaType, const AttentionShape&, const void*, const void*, const void*, const void*,
                                const float*, const void*, void*, void*, void*) {
  return false;
}

}  // namespace cleave::runtime

#endif
