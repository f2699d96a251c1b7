#include "tools/weights/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/text.h"
#include "tools/weights/table.h"

namespace cleave::tools {
namespace {

struct ValueDifference {
  int64_t count = 0;  // Of values that differ.
  double largest = 0;
};

ValueDifference Differences(const std::vector<float>& a, const std::vector<float>& b) {
  ValueDifference result;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ++result.count;
    const double difference = std::abs(double{a[i]} - double{b[i]});
    result.largest =
        std::max(result.largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
  }
  return result;
}

class Comparer {
 public:
  Comparer(const WeightSource& a, const WeightSource& b, double tolerance) : a_(a), b_(b), tolerance_(tolerance) {}

  runtime::Result<WeightComparison> Compare() {
    for (const WeightTensor& tensor : a_.tensors()) {
      const WeightTensor* const other = b_.Find(tensor.name);
      if (other == nullptr) {
        Differs(tensor, "only in the first");
        continue;
      }
      if (auto error = ComparePair(tensor, *other)) return *error;
    }
    for (const WeightTensor& tensor : b_.tensors()) {
      if (a_.Find(tensor.name) == nullptr) Differs(tensor, "only in the second");
    }
    return WeightComparison{.text = Text(), .is_within = is_within_};
  }

 private:
  void Differs(const WeightTensor& tensor, const std::string& how) {
    table_.Add({ShownName(tensor.name), ShapeText(tensor.shape), how});
    ++different_;
    is_within_ = false;
  }

  std::optional<runtime::Error> ComparePair(const WeightTensor& a, const WeightTensor& b) {
    ++common_;
    if (a.shape != b.shape) {
      Differs(a, absl::StrCat("is ", ShapeText(b.shape), " in the second"));
      return std::nullopt;
    }
    const std::string types = a.type == b.type ? "" : absl::StrCat(a.type, " and ", b.type);
    if (!IsReadAsFloat(a) || !IsReadAsFloat(b)) {
      if (!types.empty()) Differs(a, types);
      if (types.empty()) not_compared_.push_back(absl::StrCat(ShownName(a.name), " (", a.type, ")"));
      return std::nullopt;
    }
    std::vector<float> of_a, of_b;
    if (auto error = a_.Read(a, of_a)) return error;
    if (auto error = b_.Read(b, of_b)) return error;
    const ValueDifference difference = Differences(of_a, of_b);
    largest_ = std::max(largest_, difference.largest);
    if (difference.largest > tolerance_) is_within_ = false;
    if (difference.largest <= tolerance_ && types.empty()) {
      if (difference.count > 0) ++within_;
      return std::nullopt;
    }
    ++different_;
    const std::string values =
        difference.count == 0 ? "equal values"
                              : absl::StrFormat("%s of %s differ, by up to %.3g", Plural(difference.count, "value"),
                                                FormatCount(static_cast<int64_t>(of_a.size())), difference.largest);
    table_.Add({ShownName(a.name), ShapeText(a.shape), types.empty() ? values : absl::StrCat(types, ", ", values)});
    return std::nullopt;
  }

  std::string Text() const {
    std::string text = different_ > 0 ? table_.Text() : "";
    if (!not_compared_.empty()) {
      absl::StrAppend(&text, "the values of ", QuotedList(not_compared_, "and"), " are not compared\n");
    }
    if (different_ == 0 && within_ == 0) return absl::StrCat(text, Plural(common_, "tensor"), ": equal\n");
    absl::StrAppend(&text, Plural(common_, "tensor"), " in both, ", different_, " that ",
                    different_ == 1 ? "differs" : "differ");
    if (within_ > 0)
      absl::StrAppend(&text, ", ", within_, absl::StrFormat(" within the tolerance of %.3g", tolerance_));
    absl::StrAppend(&text, absl::StrFormat("; largest difference %.3g\n", largest_));
    return text;
  }

  const WeightSource& a_;
  const WeightSource& b_;
  const double tolerance_;
  TextTable table_{{"tensor", "shape", "difference"}};
  std::vector<std::string> not_compared_;
  int64_t common_ = 0, different_ = 0, within_ = 0;
  double largest_ = 0;
  bool is_within_ = true;
};

}  // namespace

runtime::Result<WeightComparison> CompareWeights(const WeightSource& a, const WeightSource& b, double tolerance) {
  return Comparer(a, b, tolerance).Compare();
}

}  // namespace cleave::tools
