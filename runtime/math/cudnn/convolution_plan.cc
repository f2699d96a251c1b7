// Plans of cuDNN for convolutions: one for each call, kept by the thread.
#include "runtime/math/cudnn/convolution_call.h"
#include "runtime/math/cudnn/handle.h"

#if CLEAVE_HAS_CUDNN

#include <climits>
#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/device/workspace.h"
#include "runtime/error/error.h"
#include "runtime/math/cudnn/convolution_graph.h"
#include "runtime/math/prepared_list.h"

namespace cleave::runtime {
namespace {

// A plan of the library, or why there is none.
struct ConvolutionPlan {
  ConvolutionCall call;
  std::unique_ptr<cudnn_frontend::graph::Graph> graph;
  int64_t workspace = 0;
  std::string refusal;
};

// Kernels of the library count elements in 32 bits.
bool IsSmallEnough(const ConvolutionCall& call) {
  for (const ConvolutionTensor tensor : {kImages, kFilter, kPlaces}) {
    const ConvolutionBox box = BoxOf(call, tensor);
    int64_t last = 0;
    for (size_t i = 0; i < box.sizes.size(); ++i) last += (box.sizes[i] - 1) * box.strides[i];
    if (last >= INT_MAX) return false;
  }
  return true;
}

ConvolutionPlan PreparePlan(const ConvolutionCall& call) {
  ConvolutionPlan plan = {call, std::make_unique<cudnn_frontend::graph::Graph>(), 0, ""};
  if (!IsSmallEnough(call)) {
    plan.refusal = "a tensor has more than 2,147,483,647 elements";
    return plan;
  }
  Describe(call, *plan.graph);
  cudnn_frontend::error_t error = MakePlan(*plan.graph, call, CudnnHandle());
  if (error.is_good()) error = plan.graph->get_workspace_size(plan.workspace);
  if (error.is_bad()) {
    plan.refusal = error.get_message();
    plan.refusal = plan.refusal.substr(0, plan.refusal.find('\n'));
  }
  return plan;
}

const ConvolutionPlan& PlanOf(const ConvolutionCall& call) {
  thread_local auto& all = *new PreparedList<ConvolutionPlan>;
  return all.Get([&](const ConvolutionPlan& known) { return known.call == call; }, [&] { return PreparePlan(call); });
}

}  // namespace

bool HasConvolutionPlan(const ConvolutionCall& call, std::string& why) {
  why = PlanOf(call).refusal;
  return why.empty();
}

void ConvolveByPlan(const ConvolutionCall& call, void* x, void* filter, void* y) {
  const ConvolutionPlan& plan = PlanOf(call);
  Scratch scratch;
  void* const workspace = plan.workspace == 0 ? nullptr : scratch.AtLeast(plan.workspace);
  std::unordered_map<int64_t, void*> places = {{kImages, x}, {kFilter, filter}, {kPlaces, y}};
  cudnn_frontend::error_t error = plan.graph->execute(CudnnHandle(), places, workspace);
  if (error.is_good()) return;
  Die(ExitCode::kFailed, "cuDNN failed in a convolution: " + std::string(error.get_message()));
}

}  // namespace cleave::runtime

#else

namespace cleave::runtime {

bool HasConvolutionPlan(const ConvolutionCall&, std::string& why) {
  why = "this program was built without cuDNN or cudnn-frontend";
  return false;
}

void ConvolveByPlan(const ConvolutionCall&, void*, void*, void*) {}

}  // namespace cleave::runtime

#endif
