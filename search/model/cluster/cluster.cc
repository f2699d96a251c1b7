#include "search/model/cluster/cluster.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/check/check.h"
#include "base/text/text.h"

namespace cleave::search {
namespace {

double WeightOf(const Cluster& cluster, const Link& link) {
  double slowest = link.bytes_per_second;
  for (const Link& other : cluster.links) {
    if (other.count > 1) slowest = std::min(slowest, other.bytes_per_second);
  }
  return slowest / link.bytes_per_second;
}

ir::Mesh Built(std::vector<ir::MeshAxis> axes) {
  absl::StatusOr<ir::Mesh> mesh = ir::Mesh::Create(std::move(axes));
  CLEAVE_CHECK(mesh.ok()) << std::string(mesh.status().message());
  return *std::move(mesh);
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

}  // namespace

int64_t Cluster::devices() const {
  int64_t product = 1;
  for (const Link& link : links) product *= link.count;
  return product;
}

const Link* Cluster::FindLink(absl::string_view name) const {
  for (const Link& link : links) {
    if (link.name == name) return &link;
  }
  return nullptr;
}

ir::Mesh MeshOfCluster(const Cluster& cluster) {
  std::vector<ir::MeshAxis> axes;
  for (const Link& link : cluster.links) {
    for (int64_t prime : ir::PrimeFactors(link.count)) {
      axes.push_back({.name = absl::StrCat("m", axes.size()),
                      .size = prime,
                      .link = link.name,
                      .weight = WeightOf(cluster, link)});
    }
  }
  return Built(std::move(axes));
}

std::optional<ir::Mesh> MeshFor(const Cluster& cluster, const std::vector<ir::NamedAxis>& named, Span mesh_span,
                                Diagnostics& diagnostics) {
  if (named.empty()) return MeshOfCluster(cluster);
  int64_t product = 1;
  for (const ir::NamedAxis& axis : named) product *= axis.size;
  const int64_t devices = cluster.devices();
  if (product != devices) {
    const std::string sizes = absl::StrJoin(
        named, " x ", [](std::string* out, const ir::NamedAxis& axis) { absl::StrAppend(out, axis.size); });
    diagnostics.Add(
        Error(Code::kE0306, absl::StrCat("the mesh has ", Plural(product, "rank"), ", but there ",
                                         devices == 1 ? "is " : "are ", Plural(devices, "device")))
            .At(mesh_span, absl::StrCat(sizes, " = ", product))
            .Help(absl::StrCat("set `devices = ", product, "`, or change the mesh so that its product is ", devices)));
    return std::nullopt;
  }
  // Goes through the links from slowest to fastest: each prime sub-axis crosses the first link that still has devices
  // to divide.
  std::vector<int64_t> left;
  for (const Link& link : cluster.links) left.push_back(link.count);
  size_t level = 0;
  std::vector<ir::MeshAxis> axes;
  for (const ir::NamedAxis& axis : named) {
    const std::vector<int64_t> primes = ir::PrimeFactors(axis.size);
    for (size_t p = 0; p < primes.size(); ++p) {
      while (level + 1 < left.size() && left[level] == 1) ++level;
      const Link& link = cluster.links[level];
      left[level] = left[level] % primes[p] == 0 ? left[level] / primes[p] : 1;
      axes.push_back({.name = primes.size() == 1 ? axis.name : absl::StrCat(axis.name, ".", p),
                      .size = primes[p],
                      .link = link.name,
                      .weight = WeightOf(cluster, link)});
    }
  }
  return Built(std::move(axes));
}

ir::AxisList AxesNamed(const ir::Mesh& mesh, absl::string_view name) {
  ir::AxisList axes;
  if (absl::StrContains(name, '.')) return axes;  // A sub-axis has no name that a user can give.
  for (ir::AxisId id : mesh.AxisIds()) {
    absl::string_view rest = mesh.axis(id).name;
    if (rest == name || (absl::ConsumePrefix(&rest, name) && absl::ConsumePrefix(&rest, ".") && IsNumber(rest))) {
      axes.push_back(id);
    }
  }
  return axes;
}

std::vector<std::string> AxisNames(const ir::Mesh& mesh) {
  std::vector<std::string> names;
  for (const ir::MeshAxis& axis : mesh.axes()) {
    const size_t dot = axis.name.rfind('.');
    const bool sub_axis = dot != std::string::npos && IsNumber(absl::string_view(axis.name).substr(dot + 1));
    std::string name = sub_axis ? axis.name.substr(0, dot) : axis.name;
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

std::vector<AxisClass> AxisClassesOf(const ir::Mesh& mesh) {
  std::vector<AxisClass> classes;
  for (ir::AxisId id : mesh.AxisIds()) {
    const ir::MeshAxis& axis = mesh.axis(id);
    const auto found = std::find_if(classes.begin(), classes.end(), [&](const AxisClass& own) {
      return own.size == axis.size && own.weight == axis.weight;
    });
    if (found == classes.end()) {
      classes.push_back({.axes = {id}, .size = axis.size, .weight = axis.weight});
    } else {
      found->axes.push_back(id);
    }
  }
  return classes;
}

}  // namespace cleave::search
