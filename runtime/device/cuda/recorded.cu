#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/state.cuh"
#include "runtime/device/recorded.h"
#include "runtime/device/streams.h"

namespace cleave::runtime {

// What was recorded is a sequence of pieces: graphs, and work between them.
struct Recorded::Recording {
  // What the device keeps of graphs with the same nodes.
  struct Executable {
    cudaGraphExec_t exec = nullptr;
    size_t nodes = 0;
    cudaGraph_t holds = nullptr;  // The graph whose arguments it has; null: of none.
  };
  struct Piece {
    std::function<void()> work;  // Before the graph, if there is one.
    cudaGraph_t graph = nullptr;
    size_t executable = 0;
  };

  bool called = false;
  GraphNodes all_nodes;
  std::vector<Piece> pieces;
  std::vector<Executable> executables;
  std::function<void()> before;  // The graph that is being recorded.

  // Of the thread: what is being recorded.
  static thread_local Recording* current;

  ~Recording() {
    for (const Executable& executable : executables) cudaGraphExecDestroy(executable.exec);
    for (const Piece& piece : pieces) {
      if (piece.graph != nullptr) cudaGraphDestroy(piece.graph);
    }
  }

  static void Begin() {
    // Only this thread's calls are captured: other ranks may be threads of the process, and may allocate meanwhile.
    CheckCuda(cudaStreamBeginCapture(ComputeStream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }

  // Makes a graph of what was asked for since Begin, and launches it.
  void End() {
    AwaitAllCommunication();
    Piece piece{.work = std::exchange(before, nullptr)};
    CheckCuda(cudaStreamEndCapture(ComputeStream(), &piece.graph), "recording a phase of the step");
    size_t nodes = 0;
    CheckCuda(cudaGraphGetNodes(piece.graph, nullptr, &nodes), "cudaGraphGetNodes");
    if (nodes == 0) {
      CheckCuda(cudaGraphDestroy(piece.graph), "cudaGraphDestroy");
      return;
    }
    all_nodes.Add(NodesOf(piece.graph, nodes));
    piece.executable = ExecutableFor(piece.graph, nodes);
    Do(pieces.emplace_back(std::move(piece)));
  }

  static GraphNodes NodesOf(cudaGraph_t graph, size_t count) {
    std::vector<cudaGraphNode_t> nodes(count);
    CheckCuda(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
    GraphNodes found;
    for (const cudaGraphNode_t node : nodes) {
      cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
      // The runtime has no name for nodes that a stream writes by; where it does not tell the type, it is such a one.
      if (cudaGraphNodeGetType(node, &type) != cudaSuccess) cudaGetLastError();
      int64_t& of_kind = type == cudaGraphNodeTypeKernel   ? found.kernels
                         : type == cudaGraphNodeTypeMemcpy ? found.copies
                         : type == cudaGraphNodeTypeMemset ? found.fills
                                                           : found.others;
      ++of_kind;
    }
    return found;
  }

  // The number of one that can do what the graph says.
  size_t ExecutableFor(cudaGraph_t graph, size_t nodes) {
    for (size_t i = 0; i < executables.size(); ++i) {
      if (executables[i].nodes == nodes && Put(graph, executables[i]) == cudaSuccess) return i;
    }
    Executable& made = executables.emplace_back();
    // Collectives keep the priority of the stream that they were recorded on.
    CheckCuda(cudaGraphInstantiate(&made.exec, graph, cudaGraphInstantiateFlagUseNodePriority), "cudaGraphInstantiate");
    made.nodes = nodes;
    made.holds = graph;
    return executables.size() - 1;
  }

  // Launches that were asked for before keep their arguments. An error: the graphs do not have the same nodes.
  static cudaError_t Put(cudaGraph_t graph, Executable& executable) {
    cudaGraphExecUpdateResultInfo info;
    const cudaError_t error = cudaGraphExecUpdate(executable.exec, graph, &info);
    if (error == cudaSuccess) {
      executable.holds = graph;
      return error;
    }
    cudaGetLastError();
    // Some nodes may have the other graph's arguments.
    executable.holds = nullptr;
    return error;
  }

  void Do(const Piece& piece) {
    if (piece.work != nullptr) piece.work();
    if (piece.graph == nullptr) return;
    Executable& executable = executables[piece.executable];
    if (executable.holds != piece.graph) CheckCuda(Put(piece.graph, executable), "cudaGraphExecUpdate");
    CheckCuda(cudaGraphLaunch(executable.exec, ComputeStream()), "cudaGraphLaunch");
  }
};

thread_local Recorded::Recording* Recorded::Recording::current = nullptr;

Recorded::Recorded() : recording_(std::make_unique<Recording>()) {}
Recorded::~Recorded() = default;

Ran Recorded::Run(const std::function<void()>& work) {
  if (!recording_->pieces.empty()) {
    for (const Recording::Piece& piece : recording_->pieces) recording_->Do(piece);
    return Ran::kReplayed;
  }
  if (!recording_->called) {
    recording_->called = true;
    work();
    AwaitAllCommunication();
    return Ran::kCalled;
  }
  Recording::current = recording_.get();
  Recording::Begin();
  work();
  recording_->End();
  Recording::current = nullptr;
  return Ran::kRecorded;
}

GraphNodes Recorded::nodes() const { return recording_->all_nodes; }

void Recorded::NextGraph() {
  if (Recording::current == nullptr) return;
  Recording::current->End();
  Recording::Begin();
}

void Recorded::Between(std::function<void()> work) {
  if (Recording::current == nullptr) {
    AwaitAllCommunication();
    return work();
  }
  Recording::current->End();
  Recording::current->Do(Recording::current->pieces.emplace_back(Recording::Piece{.work = std::move(work)}));
  Recording::Begin();
}

void Recorded::BeforeGraph(std::function<void()> work) {
  if (Recording::current != nullptr) Recording::current->before = std::move(work);
}

}  // namespace cleave::runtime
