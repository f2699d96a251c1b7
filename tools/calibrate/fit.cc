// Reading guide: CalibrationFrom fills in a cluster, the device by FitDevice and each link by FitLink, and beside each
// figure a comment. FitGroup has the formula of a link.
#include "tools/calibrate/fit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/text.h"
#include "search/price/cost/link_time.h"

namespace cleave::tools {
namespace {

double TrafficOf(const MeasuredCollective& measured) {
  return search::BusTraffic(measured.kind, measured.ranks, static_cast<double>(measured.bytes.value()));
}

double BusBandwidthOf(const MeasuredCollective& measured) { return TrafficOf(measured) / measured.times.least.value(); }

// All of one kind on a link, in groups of `ranks`.
std::vector<MeasuredCollective> Select(const std::vector<MeasuredCollective>& all, ir::CollectiveKind kind,
                                       const std::string& link, int64_t ranks) {
  std::vector<MeasuredCollective> selected;
  for (const MeasuredCollective& measured : all) {
    if (measured.kind == kind && measured.link == link && measured.ranks == ranks) selected.push_back(measured);
  }
  return selected;
}

std::vector<MeasuredCollective> Fitted(const std::vector<MeasuredCollective>& all, const std::string& link,
                                       int64_t ranks) {
  std::vector<MeasuredCollective> fitted = Select(all, ir::CollectiveKind::kAllReduce, link, ranks);
  fitted.erase(std::remove_if(fitted.begin(), fitted.end(), [](const auto& measured) { return !IsFitted(measured); }),
               fitted.end());
  return fitted;
}

// "10.2 ms, the least of 24; median 1.03, upper quartile 1.10 times as long"
std::string TimesText(const TimedCalls& times) {
  return absl::StrFormat("%s, the least of %d; median %.2f, upper quartile %.2f times as long",
                         FormatSeconds(times.least), times.repetitions, times.median.value() / times.least.value(),
                         times.upper_quartile.value() / times.least.value());
}

// The same of several sizes: "times of 9 sizes, each the least of 12 to 200; medians 1.01 to 1.30 times as long".
std::string TimesOfSizesText(const std::vector<TimedCalls>& all) {
  const auto spread = [](const TimedCalls& times) { return times.median.value() / times.least.value(); };
  const auto [fewest, most] = std::minmax_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.repetitions < b.repetitions; });
  const auto [steady, scattered] =
      std::minmax_element(all.begin(), all.end(), [&](const auto& a, const auto& b) { return spread(a) < spread(b); });
  return absl::StrFormat("times of %s, each the least of %d to %d; medians %.2f to %.2f times as long",
                         Plural(static_cast<int64_t>(all.size()), "size"), fewest->repetitions, most->repetitions,
                         spread(*steady), spread(*scattered));
}

template <typename Measured>
std::string SizesText(const std::vector<Measured>& all) {
  std::vector<TimedCalls> times;
  for (const Measured& measured : all) times.push_back(measured.times);
  return TimesOfSizesText(times);
}

std::string RangeText(const std::vector<MeasuredCollective>& all) {
  return absl::StrCat("of ", FormatBytes(all.front().bytes), " to ", FormatBytes(all.back().bytes));
}

double RateOf(const MeasuredProduct& product) { return product.flops().value() / product.times.least.value(); }

std::vector<MeasuredProduct> ProductsOf(const Measurements& measurements, const std::string& type) {
  std::vector<MeasuredProduct> products;
  for (const MeasuredProduct& product : measurements.products) {
    if (product.type == type) products.push_back(product);
  }
  return products;
}

// Efficiency never falls with size: if a larger product was slower, other work slowed the machine down.
std::vector<search::EfficiencyPoint> EfficiencyFrom(const std::vector<MeasuredProduct>& products, double peak) {
  std::vector<search::EfficiencyPoint> points;
  double best = 0;
  for (const MeasuredProduct& product : products) {
    best = std::max(best, RateOf(product) / peak);
    points.push_back({.flops = product.flops(), .share = std::min(best, 1.0)});
  }
  return points;
}

// What fits into a cache is faster by at least this factor than what does not.
constexpr double kFaster = 1.2;

// The rate never rises with the size: if a smaller size was slower, other work slowed the machine down.
std::vector<search::Cache> CachesFrom(const std::vector<MeasuredBytes>& memory) {
  std::vector<search::Cache> caches;
  double rate = memory.back().rate() * kFaster;
  for (size_t i = memory.size() - 1; i-- > 0;) {
    rate = std::max(rate, memory[i].rate());
    if (caches.empty() && memory[i].rate() < rate) continue;
    caches.insert(caches.begin(), {.bytes = memory[i].bytes, .bytes_per_second = rate});
  }
  return caches;
}

class Fit {
 public:
  Fit(const Measurements& measurements, const MeasuredHow& how) : measurements_(measurements), how_(how) {}

  Calibration Run() {
    search::Cluster& host = calibration_.machines.host;
    host.name = how_.name;
    calibration_.machines.hosts = how_.hosts;
    FitDevice(host);
    host.links = {{.name = "host", .count = how_.ranks_on_host}};
    FitLink("links[0]", host.links[0]);
    if (how_.ranks_on_host == 1) {
      host.links[0].bytes_per_second = host.memory_bytes_per_second;
      Say("links[0]", "not measured: a host has one rank; this is the bandwidth of the memory");
    }
    if (how_.hosts > 1) FitNetwork(host);
    return std::move(calibration_);
  }

 private:
  void Say(const std::string& place, const std::string& comment) {
    calibration_.notes.comments.emplace_back(place, comment);
  }

  // The best rate of products of a type, and its comment.
  double PeakOf(const std::string& type, const std::string& place) {
    const std::vector<MeasuredProduct> products = ProductsOf(measurements_, type);
    if (products.empty()) return 0;
    const auto best = std::max_element(products.begin(), products.end(),
                                       [](const auto& a, const auto& b) { return RateOf(a) < RateOf(b); });
    Say(place, absl::StrCat("product of ", type, " matrices with ", best->size, " rows and columns by ", RanksText(),
                            " at once: ", TimesText(best->times)));
    return RateOf(*best);
  }

  // "2 ranks of 1 thread"
  std::string RanksText() const {
    const std::string ranks = Plural(static_cast<int64_t>(measurements_.ranks.size()), "rank");
    if (how_.target == "cuda") return ranks;
    return absl::StrCat(ranks, " of ", Plural(measurements_.ranks.front().threads, "thread"));
  }

  void FitDevice(search::Cluster& host) {
    host.peak.f32 = PeakOf("f32", "device.peak.f32");
    for (const auto& [type, rate] : {std::pair("tf32", &host.peak.tf32), std::pair("bf16", &host.peak.bf16)}) {
      const std::string place = absl::StrCat("device.peak.", type);
      *rate = PeakOf(type, place);
      if (*rate > host.peak.f32 || *rate == 0) continue;
      *rate = 0;  // Not faster than f32.
      calibration_.notes.comments.back() = {
          "device.peak", absl::StrCat("no ", type, ": its products were not faster than those of f32")};
    }
    if (how_.target == "cpu") {
      host.peak.loops = search::kLoopsOfProducts * host.peak.f32;
      Say("device.peak.loops",
          absl::StrCat("not measured: ", search::kLoopsOfProducts, " of the rate of products of f32"));
    }
    FitEfficiency(host);
    const std::vector<MeasuredBytes>& memory = measurements_.memory;
    host.memory_bytes_per_second = memory.back().rate();
    Say("device.memory_bandwidth", absl::StrCat("reading and writing ", FormatBytes(memory.back().bytes), " in all by ",
                                                RanksText(), " at once: ", TimesText(memory.back().times)));
    FitMemory(host);
    FitFloor(host);
    if (measurements_.overlap.has_value()) FitOverlap(*measurements_.overlap, host);
  }

  void FitEfficiency(search::Cluster& host) {
    const bool by_bf16 = how_.target == "cuda" && host.peak.bf16 > 0;
    const std::vector<MeasuredProduct> products = ProductsOf(measurements_, by_bf16 ? "bf16" : "f32");
    host.matrix_efficiency = EfficiencyFrom(products, by_bf16 ? host.peak.bf16 : host.peak.f32);
    Say("device.matrix_efficiency",
        absl::StrCat("products of ", products.front().type, " matrices with ", products.front().size, " to ",
                     products.back().size, " rows and columns: ", SizesText(products)));
  }

  void FitMemory(search::Cluster& host) {
    const auto least = std::min_element(measurements_.ranks.begin(), measurements_.ranks.end(),
                                        [](const auto& a, const auto& b) { return a.memory < b.memory; });
    if (least->memory > Bytes(0)) {
      host.memory_per_device = least->memory;
      Say("device.memory", how_.target == "cuda" ? "what a GPU had free, of that with least"
                                                 : "a rank's share of its host's memory, of that with least");
    }
    if (how_.target != "cuda") host.caches = CachesFrom(measurements_.memory);
    if (!host.caches.empty()) {
      Say("device.caches",
          absl::StrFormat("sizes that are read and written %.1f times as fast as the memory and more: %s", kFaster,
                          SizesText(measurements_.memory)));
    }
    if (measurements_.input.has_value()) {
      host.input_bytes_per_second = measurements_.input->rate();
      Say("device.input_bandwidth",
          absl::StrCat("reading a batch of images of ", FormatBytes(measurements_.input->bytes), ": ",
                       TimesText(measurements_.input->times)));
    }
    for (const MeasuredBytes& copy : measurements_.host_copies) {
      const double rate = copy.rate();
      if (host.host_bytes_per_second > 0 && rate >= host.host_bytes_per_second) continue;
      if (host.host_bytes_per_second > 0) calibration_.notes.comments.pop_back();
      host.host_bytes_per_second = rate;
      Say("device.host_bandwidth", absl::StrCat("the slower direction of copying ", FormatBytes(copy.bytes), " by ",
                                                RanksText(), " at once: ", TimesText(copy.times)));
    }
  }

  void FitFloor(search::Cluster& host) {
    if (measurements_.kernel.has_value()) {
      host.kernel_floor = measurements_.kernel->least;
      Say("device.kernel_floor",
          absl::StrCat("a kernel of 1024 elements among others in a graph: ", TimesText(*measurements_.kernel)));
      return;
    }
    const auto quickest = std::min_element(measurements_.products.begin(), measurements_.products.end(),
                                           [](const auto& a, const auto& b) { return a.times.least < b.times.least; });
    host.kernel_floor = quickest->times.least;
    Say("device.kernel_floor", absl::StrCat("product of ", quickest->type, " matrices with ", quickest->size,
                                            " rows and columns: ", TimesText(quickest->times)));
  }

  // Compute loses 1 - 1 / slowdown of the time in which communication is hidden (docs/cost.md).
  void FitOverlap(const MeasuredOverlap& overlap, search::Cluster& host) {
    const double communication = overlap.communication.least.value();
    const double loss = (overlap.both.least.value() - overlap.computation.least.value()) / communication;
    host.overlap_slowdown = 1 / (1 - std::clamp(loss, 0.0, 0.75));
    Say("device.overlap_slowdown",
        absl::StrCat("bf16 products, ", FormatSeconds(overlap.computation.least), ", beside an all-reduce of ",
                     FormatBytes(overlap.bytes), " that alone takes ", FormatSeconds(overlap.communication.least),
                     ": together ", TimesText(overlap.both)));
  }

  // The sizes of groups that were measured on a link.
  std::set<int64_t> GroupsOn(const std::string& link) const {
    std::set<int64_t> ranks;
    for (const MeasuredCollective& measured : measurements_.collectives) {
      if (measured.link == link) ranks.insert(measured.ranks);
    }
    return ranks;
  }

  // Leaves a link whose ranks are alone as it is.
  void FitLink(const std::string& place, search::Link& link) {
    for (const int64_t ranks : GroupsOn(link.name)) {
      const std::vector<MeasuredCollective> reductions = Fitted(measurements_.collectives, link.name, ranks);
      Say(absl::StrCat(place, ".groups[", link.groups.size(), "]"),
          absl::StrCat("all-reduces ", RangeText(reductions), " by ", how_.comm,
                       ", least squares of relative errors: ", SizesText(reductions)));
      link.groups.push_back(FitGroup(reductions));
    }
    if (link.groups.empty()) return;
    const search::GroupRate& largest = link.groups.back();
    link.bytes_per_second = largest.bytes_per_second;
    link.latency = largest.latency;
    for (const char* field : {".bandwidth", ".latency"}) {
      Say(place + field, absl::StrCat("of its largest group, ", largest.ranks, " ranks"));
    }
    FitOneWay(place, link);
    link.ramp.ranks = largest.ranks;
    for (const MeasuredCollective& measured : Fitted(measurements_.collectives, link.name, largest.ranks)) {
      link.ramp.points.push_back({.bytes = measured.bytes, .bytes_per_second = BusBandwidthOf(measured)});
    }
    Say(place + ".ramp", "the all-reduces of the largest group");
  }

  // The bus bandwidth of all-gathers and reduce-scatters relative to that of the all-reduce, for the largest size of
  // which there are all three.
  void FitOneWay(const std::string& place, search::Link& link) {
    const auto of_kind = [&](ir::CollectiveKind kind) {
      return Select(measurements_.collectives, kind, link.name, link.groups.back().ranks);
    };
    const auto gathers = of_kind(ir::CollectiveKind::kAllGather),
               scatters = of_kind(ir::CollectiveKind::kReduceScatter);
    const auto reductions = of_kind(ir::CollectiveKind::kAllReduce);
    for (auto reduction = reductions.rbegin(); reduction != reductions.rend(); ++reduction) {
      const auto has_its_size = [&](const MeasuredCollective& other) { return other.bytes == reduction->bytes; };
      const auto gather = std::find_if(gathers.begin(), gathers.end(), has_its_size);
      const auto scatter = std::find_if(scatters.begin(), scatters.end(), has_its_size);
      if (gather == gathers.end() || scatter == scatters.end()) continue;
      link.one_way_ratio = (BusBandwidthOf(*gather) + BusBandwidthOf(*scatter)) / 2 / BusBandwidthOf(*reduction);
      if (link.one_way_ratio == 1) return;
      Say(place + ".one_way_ratio",
          absl::StrCat("at ", FormatBytes(reduction->bytes), ": all-reduce in ", TimesText(reduction->times),
                       "; all-gather in ", TimesText(gather->times), "; reduce-scatter in ",
                       TimesText(scatter->times)));
      return;
    }
  }

  // Between ranks with the same place on each host, all of which send at once, so that they share the host's cards.
  void FitNetwork(const search::Cluster& host) {
    search::Link& network = calibration_.machines.network;
    network.name = "network";
    network.count = how_.hosts;
    FitLink("network", network);
    for (const MeasuredRank& rank : measurements_.ranks) {
      std::vector<std::string>& names = calibration_.notes.hosts;
      if (names.empty() || names.back() != rank.host) names.push_back(rank.host);
    }
    if (network.bytes_per_second <= host.links[0].bytes_per_second) return;
    // The link that is listed first must not be the faster one; times follow from the groups.
    network.bytes_per_second = host.links[0].bytes_per_second;
    for (auto& [place, comment] : calibration_.notes.comments) {
      if (place == "network.bandwidth") comment = "as within a host: between hosts no less was measured";
    }
  }

  const Measurements& measurements_;
  const MeasuredHow& how_;
  Calibration calibration_;
};

}  // namespace

search::GroupRate FitGroup(const std::vector<MeasuredCollective>& reductions) {
  // Least squares of latency * u + per_byte * v = 1, u = 1 / seconds, v = traffic / seconds.
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const MeasuredCollective& measured : reductions) {
    const double u = 1 / measured.times.least.value(), v = TrafficOf(measured) * u;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  double latency = (u1 * vv - v1 * uv) / determinant;
  double per_byte = (uu * v1 - uv * u1) / determinant;
  if (latency < 0) {
    latency = 0;
    per_byte = v1 / vv;
  } else if (per_byte <= 0) {
    // All took about the same time, so the largest one gives a lower bound of the bandwidth.
    per_byte = 1 / v1;
  }
  return {.ranks = reductions.front().ranks, .latency = Seconds(latency), .bytes_per_second = 1 / per_byte};
}

bool IsFitted(const MeasuredCollective& measured) {
  int64_t bytes = measured.bytes.value();
  while (bytes > 1 && bytes % 4 == 0) bytes /= 4;
  return measured.kind == ir::CollectiveKind::kAllReduce && measured.link != "all" && bytes == 1;
}

Calibration CalibrationFrom(const Measurements& measurements, const MeasuredHow& how) {
  return Fit(measurements, how).Run();
}

}  // namespace cleave::tools
