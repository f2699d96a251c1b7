#include "runtime/kernels/show.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

#include "runtime/comm/reduce.h"
#include "runtime/device/bfloat16.h"
#include "runtime/device/float16.h"
#include "runtime/device/memory.h"
#include "runtime/error/error.h"
#include "runtime/error/progress_line.h"

namespace cleave::runtime {
namespace {

template <typename T>
void AppendTensor(const std::vector<int64_t>& shape, size_t dimension, bool shorten, const T* values,
                  std::string& text) {
  if (dimension == shape.size()) {
    text += std::is_same_v<T, int32_t> ? Format("%d", static_cast<int>(values[0]))
                                       : Format("%.6g", static_cast<double>(values[0]));
    return;
  }
  constexpr int64_t kShown = 3;
  int64_t stride = 1;
  for (size_t d = dimension + 1; d < shape.size(); ++d) stride *= shape[d];
  const bool innermost = dimension + 1 == shape.size();
  const std::string separator = innermost ? ", " : ",\n" + std::string(dimension + 1, ' ');
  text += "[";
  for (int64_t i = 0; i < shape[dimension]; ++i) {
    if (i > 0) text += separator;
    if (shorten && i == kShown && shape[dimension] > 2 * kShown) {
      text += "..." + separator;
      i = shape[dimension] - kShown;
    }
    AppendTensor(shape, dimension + 1, shorten, values + i * stride, text);
  }
  text += "]";
}

// Numbers as bytes for GatherText, and back.
template <typename T>
std::string Packed(const T* numbers, size_t count) {
  return count == 0 ? "" : std::string(reinterpret_cast<const char*>(numbers), count * sizeof(T));
}

template <typename T>
std::vector<T> Unpacked(const std::string& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(static_cast<void*>(numbers.data()), bytes.data(), bytes.size());
  return numbers;
}

// Which members of Observer make a look, for ranks that hold nothing of it. In looks of the last kind ranks send each
// other nothing, or it is of manual models, which have no stages.
constexpr char kPrint = 'p', kPrintPieces = 'l', kWatch = 'w', kOutput = 'o', kAlone = '-';

bool HoldsSome(const Part& part) { return part.number >= 0; }

template <typename T>
std::vector<T> Copied(const T* values, int64_t count) {
  values = OnHost(values, count);
  return std::vector<T>(values, values + count);
}

// What the rank holds of a tensor, if it holds some.
template <typename T>
std::vector<T> Copied(const T* values, const Region& region, const Part& part) {
  return HoldsSome(part) ? Copied(values, ElementCount(region.size)) : std::vector<T>();
}

template <typename T>
constexpr char kTypeLetter = 'f';
template <>
constexpr char kTypeLetter<int32_t> = 'i';
template <>
constexpr char kTypeLetter<BFloat16> = 'b';
template <>
constexpr char kTypeLetter<Float16> = 'h';

// The piece or part of a tensor that a rank holds, and what it says of it.
struct Held {
  Region region;
  int64_t part = 0;
  std::string said;

  bool IsCopyOf(const Held& other) const {
    return region.begin == other.region.begin && region.size == other.region.size && part == other.part;
  }
};

// What every rank holds, and what it says of it.
std::vector<Held> GatherHeld(Comm& comm, const Region& region, const Part& part, const std::string& said = "") {
  std::vector<int64_t> mine = region.begin;
  mine.insert(mine.end(), region.size.begin(), region.size.end());
  mine.push_back(part.number);
  const size_t dimensions = region.shape.size();
  const size_t bytes = mine.size() * sizeof(int64_t);
  std::vector<Held> held;
  for (const std::string& text : comm.GatherText(Packed(mine.data(), mine.size()) + said)) {
    const std::vector<int64_t> numbers = Unpacked<int64_t>(text.substr(0, bytes));
    const auto sizes = numbers.begin() + static_cast<std::ptrdiff_t>(dimensions);
    held.push_back(
        {{region.shape, {numbers.begin(), sizes}, {sizes, numbers.end() - 1}}, numbers.back(), text.substr(bytes)});
  }
  return held;
}

// Whether nothing before `held[at]` is the same: one copy is enough.
bool IsFirstCopy(const std::vector<Held>& held, size_t at) {
  return std::none_of(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(at),
                      [&](const Held& other) { return other.IsCopyOf(held[at]); });
}

const char* ReductionName(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kMax:
      return "maximum";
    case Reduction::kMin:
      return "minimum";
    case Reduction::kProd:
      return "product";
  }
  return "";
}

// "9216 elements, min -3.5, max 4.25, mean 0.125"; values that are not finite are counted and left out.
template <typename T>
std::string SummaryText(int64_t count, const T* values) {
  int64_t finite = 0;
  double least = 0, most = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) continue;
    least = finite == 0 ? value : std::fmin(least, value);
    most = finite == 0 ? value : std::fmax(most, value);
    sum += value;
    ++finite;
  }
  std::string text = Format("%lld elements", static_cast<long long>(count));
  if (finite < count) text += Format(", %lld not finite", static_cast<long long>(count - finite));
  if (finite == 0) return text;
  return text + Format(", min %.6g, max %.6g, mean %.6g", least, most, sum / static_cast<double>(finite));
}

Statistics Amount(const std::vector<double>& values) {
  Statistics all;
  for (const double value : values) all.Add({1, value * value, value == 0 ? 1.0 : 0.0, value, value});
  return all;
}

// One tensor: a headline, and its elements.
template <typename T>
std::string TensorLines(const std::string& headline, const std::string& place, const std::vector<int64_t>& shape,
                        const T* values) {
  return headline + " (" + place + ") =\n" + TensorText(shape, values) + "\n";
}

void PrintLines(const std::string& lines) {
  EndProgressLine();
  std::fputs(lines.c_str(), stdout);
  std::fflush(stdout);  // A later look may end the job on another rank.
}

}  // namespace

template <typename T>
std::string TensorText(const std::vector<int64_t>& shape, const T* values) {
  constexpr int64_t kAll = 1000;
  const int64_t count = ElementCount(shape);
  std::string text;
  AppendTensor(shape, 0, count > kAll, values, text);
  return count > kAll ? text + "\n" + SummaryText(count, values) : text;
}

template <typename Function>
struct Observer::LookOf final : Look {
  explicit LookOf(Function function) : function(std::move(function)) {}
  void Show() override { function(); }

  const Function function;
};

template <typename Mine, typename Function>
struct Observer::LookAtPieces final : Look {
  explicit LookAtPieces(Function function) : function(std::move(function)) {}
  void Show() override { function(pieces); }

  const Function function;
  std::vector<Piece<Mine>> pieces;
};

Observer::Seen& Observer::Insert(int number, Description description, std::unique_ptr<Look> look) {
  auto place = seen_.end();
  while (place != seen_.begin() && (place - 1)->number > number) --place;
  return *seen_.insert(place, {number, std::move(description), 1, std::move(look)});
}

template <typename Function>
void Observer::Keep(int number, Description description, Function show) {
  if (occasion_ == Occasion::kAgain) return;
  Insert(number, std::move(description), std::make_unique<LookOf<Function>>(std::move(show)));
}

template <typename Mine, typename Function>
void Observer::KeepPiece(int number, Description description, Piece<Mine> piece, Function show) {
  if (occasion_ == Occasion::kAgain) return;
  using Pieces = LookAtPieces<Mine, Function>;
  const auto seen = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& one) { return one.number == number; });
  if (seen != seen_.end()) ++seen->pieces;
  Seen& own =
      seen != seen_.end() ? *seen : Insert(number, std::move(description), std::make_unique<Pieces>(std::move(show)));
  // What is looked at under one number is always looked at in one way.
  static_cast<Pieces&>(*own.look).pieces.push_back(std::move(piece));
}

// A line for each look in which other ranks must take part.
std::string Observer::TextOfSeen() const {
  std::string text;
  for (const Seen& one : seen_) {
    const Description& description = one.description;
    if (description.method == kAlone) continue;
    text +=
        Format("%d %" PRId64 " %c %c %d %" PRId64 " %zu", one.number, one.pieces, description.method, description.type,
               static_cast<int>(description.part.reduction), description.part.count, description.shape.size());
    for (const int64_t size : description.shape) text += Format(" %" PRId64, size);
    text += "\t" + description.shown.name + "\t" + description.shown.place + "\n";
  }
  return text;
}

void JoinLooks(Observer& observer) { observer.TakePart(); }

void Observer::TakePart() {
  std::set<int> known;
  for (const Seen& one : seen_) known.insert(one.number);
  for (const std::string& text : comm_.GatherText(TextOfSeen())) {
    std::istringstream lines(text);
    std::set<int> from_rank;
    int number = 0;
    while (lines >> number) {
      int64_t pieces = 0;
      int reduction = 0;
      size_t dimensions = 0;
      Description description;
      lines >> pieces >> description.method >> description.type >> reduction >> description.part.count >> dimensions;
      description.part = {-1, description.part.count, static_cast<Reduction>(reduction)};
      description.shape.resize(dimensions);
      for (int64_t& size : description.shape) lines >> size;
      std::getline(lines.ignore(), description.shown.name, '\t');
      std::getline(lines, description.shown.place);
      if (known.count(number) > 0) continue;
      from_rank.insert(number);
      for (int64_t piece = 0; piece < pieces; ++piece) {
        switch (description.type) {
          case kTypeLetter<int32_t>:
            TakePartIn<int32_t>(number, description);
            break;
          case kTypeLetter<BFloat16>:
            TakePartIn<BFloat16>(number, description);
            break;
          case kTypeLetter<Float16>:
            TakePartIn<Float16>(number, description);
            break;
          default:
            TakePartIn<float>(number, description);
        }
      }
    }
    known.insert(from_rank.begin(), from_rank.end());
  }
}

template <typename T>
void Observer::TakePartIn(int number, const Description& description) {
  const std::vector<int64_t> nothing(description.shape.size(), 0);
  const Region region = {description.shape, nothing, nothing};
  const Shown& shown = description.shown;
  switch (description.method) {
    case kPrint:
      return Print<T>(number, shown, region, nullptr, description.part);
    case kPrintPieces:
      return PrintPieces<T>(number, shown, region, nullptr, description.part);
    case kWatch:
      return Watch<T>(number, shown, region, nullptr, description.part);
    default:
      return Output<T>(number, shown, region, nullptr, description.part);
  }
}

std::string Observer::Place(const Shown& shown) const {
  return shown.place + (occasion_ == Occasion::kTest ? ", test" : "");
}

template <typename T>
std::vector<double> Observer::Whole(const std::vector<Piece<std::vector<T>>>& pieces) {
  std::vector<Held> held;  // What all ranks hold, one of their pieces after another.
  const auto count = static_cast<size_t>(ElementCount(pieces.front().region.shape));
  std::vector<double> whole(count);
  std::vector<char> begun(count, 0);
  for (const Piece<std::vector<T>>& piece : pieces) {
    const size_t before = held.size();
    for (Held& one : GatherHeld(comm_, piece.region, piece.part)) held.push_back(std::move(one));
    const bool sends = IsFirstCopy(held, before + static_cast<size_t>(comm_.rank()));
    const std::vector<std::string> texts = comm_.GatherText(sends ? Packed(piece.mine.data(), piece.mine.size()) : "");
    for (size_t rank = 0; comm_.rank() == 0 && rank < texts.size(); ++rank) {
      if (!IsFirstCopy(held, before + rank) || held[before + rank].part < 0) continue;
      const std::vector<T> values = Unpacked<T>(texts[rank]);
      ForEachRun(held[before + rank].region, [&](int64_t global, int64_t local, int64_t run) {
        for (int64_t i = 0; i < run; ++i) {
          const auto at = static_cast<size_t>(global + i);
          const auto value = static_cast<double>(values[static_cast<size_t>(local + i)]);
          whole[at] = begun[at] != 0 ? Reduced(piece.part.reduction, whole[at], value) : value;
          begun[at] = 1;
        }
      });
    }
  }
  return whole;
}

template <typename T>
void Observer::Print(int number, const Shown& shown, const Region& region, const T* values, const Part& part) {
  using Values = std::vector<T>;
  const auto show = [this, shown, place = Place(shown)](const std::vector<Piece<Values>>& pieces) {
    const std::vector<double> whole = Whole(pieces);
    if (comm_.rank() != 0) return;
    Values rounded;
    for (const double value : whole) rounded.push_back(static_cast<T>(value));
    const std::vector<int64_t>& shape = pieces.front().region.shape;
    PrintLines(TensorLines(shown.name + " " + ShapeText(shape), place, shape, rounded.data()));
  };
  KeepPiece(number, {kPrint, kTypeLetter<T>, shown, region.shape, part},
            Piece<Values>{region, part, Copied(values, region, part)}, show);
}

template <typename T>
void Observer::PrintPieces(int number, const Shown& shown, const Region& region, const T* values, const Part& part) {
  Keep(number, {kPrintPieces, kTypeLetter<T>, shown, region.shape, part},
       [this, shown, region, part, place = Place(shown), mine = Copied(values, region, part)] {
         std::string slice;
         for (size_t d = 0; d < region.shape.size(); ++d) {
           slice += Format("%s%lld:%lld", d > 0 ? ", " : "", static_cast<long long>(region.begin[d]),
                           static_cast<long long>(region.begin[d] + region.size[d]));
         }
         std::string headline = Format("%s[%s] of %s on rank %d", shown.name.c_str(), slice.c_str(),
                                       ShapeText(region.shape).c_str(), comm_.rank());
         if (part.count > 1) {
           headline += Format(", part %lld of %lld of the %s", static_cast<long long>(part.number),
                              static_cast<long long>(part.count), ReductionName(part.reduction));
         }
         const std::vector<std::string> texts =
             comm_.GatherText(HoldsSome(part) ? TensorLines(headline, place, region.size, mine.data()) : "");
         if (comm_.rank() != 0) return;
         for (const std::string& text : texts) PrintLines(text);
       });
}

template <typename T>
void Observer::PrintRanks(int number, const Shown& shown, const std::vector<int64_t>& shape, const T* values) {
  Keep(number, {}, [this, shown, shape, place = Place(shown), mine = Copied(values, ElementCount(shape))] {
    const std::vector<std::string> tensors = comm_.GatherText(Packed(mine.data(), mine.size()));
    if (comm_.rank() != 0) return;
    const bool equal =
        std::all_of(tensors.begin(), tensors.end(), [&](const std::string& tensor) { return tensor == tensors[0]; });
    const std::string headline = shown.name + " " + ShapeText(shape);
    for (size_t rank = 0; rank < (equal ? 1 : tensors.size()); ++rank) {
      PrintLines(TensorLines(equal ? headline : headline + Format(" on rank %zu", rank), place, shape,
                             Unpacked<T>(tensors[rank]).data()));
    }
  });
}

template <typename T>
void Observer::AssertFinite(int number, const Shown& shown, int64_t count, const T* values) {
  values = OnHost(values, count);
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    if (std::isfinite(value)) continue;
    return Keep(number, {}, [this, shown, i, value, place = Place(shown)] {
      const std::string part =
          shown.micro_batch < 0 ? "" : Format(" in micro-batch %lld", static_cast<long long>(shown.micro_batch));
      Die(ExitCode::kNotFinite,
          Format("`%s` is not finite: element %lld of the piece of rank %d%s is %g (%s)", shown.name.c_str(),
                 static_cast<long long>(i), comm_.rank(), part.c_str(), value, place.c_str()));
    });
  }
}

template <typename T>
void Observer::Watch(int number, const Shown& shown, const Region& region, const T* values, const Part& part) {
  if (!is_logged_) return;
  const Description description = {kWatch, kTypeLetter<T>, shown, region.shape, part};
  if (part.count > 1) {
    const auto amount = [this, shown](const std::vector<Piece<std::vector<T>>>& pieces) {
      const std::vector<double> whole = Whole(pieces);
      if (comm_.rank() == 0) watched_.emplace_back(shown.name, Amount(whole));
    };
    return KeepPiece(number, description, Piece<std::vector<T>>{region, part, Copied(values, region, part)}, amount);
  }
  const auto add_up = [this, shown](const std::vector<Piece<Statistics>>& pieces) {
    std::vector<Held> held;
    for (const Piece<Statistics>& piece : pieces) {
      for (Held& one : GatherHeld(comm_, piece.region, piece.part, Packed(&piece.mine, 1))) {
        held.push_back(std::move(one));
      }
    }
    Statistics all;
    for (size_t i = 0; i < held.size(); ++i) {
      if (IsFirstCopy(held, i) && held[i].part >= 0) all.Add(Unpacked<Statistics>(held[i].said)[0]);
    }
    if (comm_.rank() == 0) watched_.emplace_back(shown.name, all);
  };
  const Statistics own = HoldsSome(part) ? StatisticsOf(values, ElementCount(region.size)) : Statistics();
  KeepPiece(number, description, Piece<Statistics>{region, part, own}, add_up);
}

template <typename T>
void Observer::WatchRanks(int number, const Shown& shown, const std::vector<int64_t>& shape, const T* values) {
  if (!is_logged_) return;
  Keep(number, {}, [this, shown, mine = StatisticsOf(values, ElementCount(shape))] {
    const std::vector<std::string> texts = comm_.GatherText(Packed(&mine, 1));
    if (comm_.rank() != 0) return;
    const bool equal =
        std::all_of(texts.begin(), texts.end(), [&](const std::string& text) { return text == texts[0]; });
    for (size_t rank = 0; rank < (equal ? 1 : texts.size()); ++rank) {
      watched_.emplace_back(equal ? shown.name : Format("%s@%zu", shown.name.c_str(), rank),
                            Unpacked<Statistics>(texts[rank])[0]);
    }
  });
}

template <typename T>
void Observer::Output(int number, const Shown& shown, const Region& region, const T* values, const Part& part) {
  using Values = std::vector<T>;
  const auto show = [this, shown](const std::vector<Piece<Values>>& pieces) {
    std::vector<double> whole = Whole(pieces);
    if (comm_.rank() != 0) return;
    outputs_.push_back({shown.name, pieces.front().region.shape, !std::is_same_v<T, int32_t>, std::move(whole)});
  };
  KeepPiece(number, {kOutput, kTypeLetter<T>, shown, region.shape, part},
            Piece<Values>{region, part, Copied(values, region, part)}, show);
}

#define CLEAVE_SHOWN_OF(T)                                                                      \
  template std::string TensorText(const std::vector<int64_t>&, const T*);                       \
  template void Observer::Print(int, const Shown&, const Region&, const T*, const Part&);       \
  template void Observer::PrintPieces(int, const Shown&, const Region&, const T*, const Part&); \
  template void Observer::PrintRanks(int, const Shown&, const std::vector<int64_t>&, const T*); \
  template void Observer::Output(int, const Shown&, const Region&, const T*, const Part&);      \
  template void Observer::Watch(int, const Shown&, const Region&, const T*, const Part&);       \
  template void Observer::WatchRanks(int, const Shown&, const std::vector<int64_t>&, const T*);
CLEAVE_SHOWN_OF(float)
CLEAVE_SHOWN_OF(int32_t)
CLEAVE_SHOWN_OF(BFloat16)
CLEAVE_SHOWN_OF(Float16)
#undef CLEAVE_SHOWN_OF
template void Observer::AssertFinite(int, const Shown&, int64_t, const float*);
template void Observer::AssertFinite(int, const Shown&, int64_t, const BFloat16*);
template void Observer::AssertFinite(int, const Shown&, int64_t, const Float16*);

}  // namespace cleave::runtime
