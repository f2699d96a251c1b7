#include "runtime/train/parameter_norm.h"

#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "runtime/error/error.h"
#include "runtime/kernels/statistics.h"

namespace cleave::runtime {
namespace {

// A piece by its number and place, without spaces: "3:0,128,64,128".
std::string PieceText(size_t number, const Region& region) {
  std::string text = std::to_string(number) + ":";
  for (const int64_t begin : region.begin) text += std::to_string(begin) + ",";
  for (const int64_t size : region.size) text += std::to_string(size) + ",";
  return text;
}

}  // namespace

ParameterNorm::ParameterNorm(Comm& comm, std::vector<ParameterView> parameters) : comm_(comm) {
  std::string pieces;
  for (size_t i = 0; i < parameters.size(); ++i) pieces += PieceText(i, parameters[i].region) + " ";
  const std::vector<std::string> of_ranks = comm_.GatherText(pieces);
  std::set<std::string> held_before;
  for (int rank = 0; rank < comm_.rank(); ++rank) {
    std::istringstream words(of_ranks[static_cast<size_t>(rank)]);
    for (std::string word; words >> word;) held_before.insert(word);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (held_before.count(PieceText(i, parameters[i].region)) == 0) mine_.push_back(std::move(parameters[i]));
  }
}

double ParameterNorm::Squares() const {
  double squares = 0;
  for (const ParameterView& view : mine_) squares += StatisticsOf(view.values, ElementCount(view.region.size)).squares;
  return squares;
}

double ParameterNorm::NormOf(double squares) const {
  double all = 0;
  for (const std::string& text : comm_.GatherText(Format("%.17g", squares))) all += std::strtod(text.c_str(), nullptr);
  return std::sqrt(all);
}

}  // namespace cleave::runtime
