// The machines that a command line and a model ask for.
#ifndef CLEAVE_TOOLS_DRIVER_CHOOSE_CLUSTER_H_
#define CLEAVE_TOOLS_DRIVER_CHOOSE_CLUSTER_H_

#include <optional>

#include "base/diagnostic/diagnostic.h"
#include "frontend/frontend.h"
#include "search/model/cluster/cluster.h"
#include "search/model/cluster/resolve.h"
#include "tools/driver/options.h"

namespace cleave::tools {

// The machines of `--cluster`; without it one CPU host, or for GPUs hosts with eight H100. nullopt after E0606 or
// E0607.
std::optional<search::Machines> MachinesAskedFor(const CompileOptions& options, Diagnostics& diagnostics);

// The number of devices, as far as the command line gives it. If it names no cluster, a model that gives no number is
// for one device.
search::DeviceCounts DevicesAskedFor(const CompileOptions& options, const search::Machines& machines);

// The cluster on which a plan is searched: of `machines`, which MachinesAskedFor returned. Its number of devices is, in
// this order: `--devices`, what the cluster itself says, `devices` or the mesh of the model's `parallel` block. nullopt
// after E0608.
std::optional<search::Cluster> ChooseCluster(const CompileOptions& options, const search::Machines& machines,
                                             const frontend::Module& module, Diagnostics& diagnostics);

// `cluster` as programs for `target` use it: on GPUs the matrix units take f32 tensors only where the model lets them
// round; a CPU has a rate of loops, also where its cluster file says none, and libraries of collectives that take no
// memory of a GPU.
search::Cluster ForTarget(search::Cluster cluster, absl::string_view target, ir::Precision precision);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_DRIVER_CHOOSE_CLUSTER_H_
