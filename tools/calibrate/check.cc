#include "tools/calibrate/check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/graph/ops/ops.h"
#include "ir/sharding/mesh/mesh.h"
#include "ir/tensor/types/types.h"
#include "search/model/cluster/cluster.h"
#include "search/price/cost/time.h"
#include "tools/calibrate/fit.h"

namespace cleave::tools {
namespace {

// The innermost axes on a link, or on any, that make groups of `ranks`.
ir::AxisList AxesOf(const ir::Mesh& mesh, const std::string& link, int64_t ranks) {
  ir::AxisList axes;
  for (const ir::AxisId axis : mesh.AxisIds()) {
    if (link == "all" || mesh.axis(axis).link == link) axes.push_back(axis);
  }
  while (mesh.Size(axes) > ranks) axes.erase(axes.begin());
  return axes;
}

// By itself it stays in the cache that holds its three matrices.
Seconds PredictedProduct(const search::Cluster& cluster, const MeasuredProduct& product) {
  const ir::DType type = product.type == "bf16" ? ir::DType::kBf16 : ir::DType::kF32;
  const Bytes touched = ir::ElementSize(type) * (3 * product.size * product.size);
  const ir::TensorType square{type, {product.size, product.size}};
  const ir::Attributes attributes = {{ir::attribute::kTransposeA, false}, {ir::attribute::kTransposeB, true}};
  return search::OpSeconds(search::SeenByStep(cluster, touched), ir::DefinitionOf(ir::OpKind::kMatmul),
                           {square, square}, square, attributes);
}

class Checked {
 public:
  void Add(const std::string& what, bool is_fitted, Seconds predicted, const TimedCalls& measured) {
    const auto same = [&](const CheckedTimes& other) { return other.what == what && other.is_fitted == is_fitted; };
    auto found = std::find_if(all_.begin(), all_.end(), same);
    if (found == all_.end()) found = all_.insert(found, {.what = what, .is_fitted = is_fitted, .ratios = {}});
    found->ratios.push_back(predicted.value() / measured.least.value());
  }

  std::vector<CheckedTimes> Take() { return std::move(all_); }

 private:
  std::vector<CheckedTimes> all_;
};

constexpr char kProduct[] = "product of ";

bool IsProduct(const CheckedTimes& checked) { return checked.what.rfind(kProduct, 0) == 0; }

}  // namespace

std::vector<CheckedTimes> CheckTimes(const search::Machines& machines, const Measurements& measurements) {
  const search::Cluster cluster = *search::ClusterOf(machines, machines.devices());
  const ir::Mesh mesh = search::MeshOfCluster(cluster);
  Checked checked;
  for (const MeasuredCollective& measured : measurements.collectives) {
    checked.Add(absl::StrCat(ir::CollectiveKindName(measured.kind), " of ", measured.ranks, " by ", measured.link),
                IsFitted(measured),
                search::CollectiveSeconds(cluster, mesh, measured.kind, AxesOf(mesh, measured.link, measured.ranks),
                                          measured.bytes),
                measured.times);
  }
  for (const MeasuredProduct& product : measurements.products) {
    if (product.type == "tf32") continue;  // Which products of f32 run so, a model says.
    checked.Add(kProduct + product.type, true, PredictedProduct(cluster, product), product.times);
  }
  return checked.Take();
}

double MedianRatio(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  return ratios[ratios.size() / 2];
}

double WorstRatio(const std::vector<double>& ratios) {
  return *std::max_element(ratios.begin(), ratios.end(),
                           [](double a, double b) { return std::abs(std::log(a)) < std::abs(std::log(b)); });
}

bool AreDisturbed(const Measurements& measurements) {
  int64_t scattered = 0, all = 0;
  const auto look_at = [&](const auto& figures) {
    for (const auto& figure : figures) {
      ++all;
      if (figure.times.median.value() > 2 * figure.times.least.value()) ++scattered;
    }
  };
  look_at(measurements.collectives);
  look_at(measurements.products);
  look_at(measurements.memory);
  return 2 * scattered > all;
}

std::string CheckText(const std::vector<CheckedTimes>& checked) {
  std::string text = absl::StrFormat("%-40s %6s %8s %8s\n", "predicted / measured", "sizes", "median", "worst");
  std::vector<double> fitted, others;
  for (const CheckedTimes& times : checked) {
    absl::StrAppendFormat(&text, "%-40s %6d %8.3g %8.3g\n", absl::StrCat(times.what, times.is_fitted ? ", fitted" : ""),
                          times.ratios.size(), MedianRatio(times.ratios), WorstRatio(times.ratios));
    if (IsProduct(times)) continue;
    std::vector<double>& all = times.is_fitted ? fitted : others;
    all.insert(all.end(), times.ratios.begin(), times.ratios.end());
  }
  for (const auto& [what, ratios] :
       {std::pair("to which the links were fitted", &fitted), std::pair("others", &others)}) {
    if (ratios->empty()) continue;
    absl::StrAppendFormat(&text, "collectives, %s: predicted / measured %.3g in the middle, %.3g at worst, of %d\n",
                          what, MedianRatio(*ratios), WorstRatio(*ratios), ratios->size());
  }
  return text;
}

}  // namespace cleave::tools
