// Reading guide: a rank of each stage writes the list of its parameters as a text, which Reader reads on all ranks.
#include "runtime/train/parameters.h"

#include <sstream>
#include <string>
#include <utility>

#include "runtime/checkpoint/checkpoint.h"

namespace cleave::runtime {
namespace {

template <typename Number>
void WriteNumbers(const std::vector<Number>& numbers, std::ostream& out) {
  out << ' ' << numbers.size();
  for (const Number number : numbers) out << ' ' << number;
}

void WriteLayout(const TensorLayout& layout, std::ostream& out) {
  WriteNumbers(layout.shape, out);
  out << ' ' << layout.axes.size();
  for (const std::vector<int>& of_dimension : layout.axes) WriteNumbers(of_dimension, out);
}

// Names have no spaces.
std::string TextOf(const std::vector<ParameterView>& parameters) {
  std::ostringstream out;
  out << parameters.size();
  for (const ParameterView& view : parameters) {
    const bool is_integer = view.values.type() == RealType::kI32;
    out << ' ' << view.name << ' ' << view.line << ' ' << view.is_in_params << ' ' << is_integer;
    WriteLayout(view.layout, out);
    out << ' ' << view.part.has_value();
    if (view.part.has_value())
      out << ' ' << view.part->matrix << ' ' << view.part->columns << ' ' << view.part->is_numbers;
    out << ' ' << view.states.size();
    for (const OptimizerState& state : view.states) {
      out << ' ' << state.name;
      WriteLayout(state.layout.value_or(view.layout), out);
    }
  }
  return out.str();
}

class Reader {
 public:
  explicit Reader(const std::string& text) : in_(text) {}

  std::vector<ParameterView> Parameters() {
    std::vector<ParameterView> parameters;
    const size_t count = Next<size_t>();
    for (size_t i = 0; i < count; ++i) {
      std::string name = Next<std::string>();
      const int line = Next<int>();
      const bool is_in_params = Next<bool>();
      const Reals values = Next<bool>() ? NoIntegers() : Reals(nullptr);
      TensorLayout layout = Layout();
      std::optional<MatrixPart> part;
      if (Next<bool>()) {
        part.emplace();
        part->matrix = Next<std::string>();
        part->columns = Next<int64_t>();
        part->is_numbers = Next<bool>();
      }
      OptimizerStates states;
      const size_t state_count = Next<size_t>();
      for (size_t state = 0; state < state_count; ++state) {
        const std::string own = Next<std::string>();
        states.emplace_back(own.c_str(), nullptr, Layout());
      }
      parameters.emplace_back(std::move(name), line, std::move(layout), values, std::move(states));
      parameters.back().is_in_params = is_in_params;
      parameters.back().part = std::move(part);
    }
    return parameters;
  }

 private:
  template <typename T>
  T Next() {
    T value{};
    in_ >> value;
    return value;
  }

  template <typename Number>
  std::vector<Number> Numbers() {
    std::vector<Number> numbers(Next<size_t>());
    for (Number& number : numbers) number = Next<Number>();
    return numbers;
  }

  TensorLayout Layout() {
    TensorLayout layout = {Numbers<int64_t>()};
    layout.axes.resize(Next<size_t>());
    for (std::vector<int>& of_dimension : layout.axes) of_dimension = Numbers<int>();
    return layout;
  }

  std::istringstream in_;
};

}  // namespace

std::vector<ParameterView> ParametersOfAllStages(Comm& comm, std::optional<int> stage_axis,
                                                 std::vector<ParameterView> own) {
  if (!stage_axis.has_value()) return own;
  const Mesh& mesh = comm.mesh();
  const int64_t stages = mesh[static_cast<size_t>(*stage_axis)].size;
  const int64_t stage = IndexOnAxes(mesh, comm.rank(), {*stage_axis});
  const bool speaks = comm.rank() == RankAt(mesh, 0, {*stage_axis}, stage);
  const std::vector<std::string> texts = comm.GatherText(speaks ? TextOf(own) : "");
  std::vector<ParameterView> all;
  for (int64_t i = 0; i < stages; ++i) {
    std::vector<ParameterView> of_stage =
        i == stage ? std::move(own)
                   : Reader(texts[static_cast<size_t>(RankAt(mesh, 0, {*stage_axis}, i))]).Parameters();
    for (ParameterView& view : of_stage) {
      view.layout.stage = {*stage_axis, i};
      for (OptimizerState& state : view.states) {
        if (state.layout.has_value()) state.layout->stage = view.layout.stage;
      }
      all.push_back(std::move(view));
    }
  }
  return all;
}

}  // namespace cleave::runtime
