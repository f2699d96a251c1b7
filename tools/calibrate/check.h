// Private to tools/calibrate: how close a cluster file's predictions are to what was measured.
#ifndef CLEAVE_TOOLS_CALIBRATE_CHECK_H_
#define CLEAVE_TOOLS_CALIBRATE_CHECK_H_

#include <string>
#include <vector>

#include "search/model/cluster/machines.h"
#include "tools/calibrate/measurements.h"

namespace cleave::tools {

// The times of one thing by size, predicted / measured.
struct CheckedTimes {
  std::string what;        // "all_reduce of 2 by host", "product of f32"
  bool is_fitted = false;  // Figures of the file follow from these times.
  std::vector<double> ratios;
};

// Of collectives, by link, group and kind; those from which figures follow apart from the others. Then of products.
std::vector<CheckedTimes> CheckTimes(const search::Machines& machines, const Measurements& measurements);

// The ratio in the middle, and the one that is farthest from 1. REQUIRES: there is one.
double MedianRatio(std::vector<double> ratios);
double WorstRatio(const std::vector<double>& ratios);

// Whether most of all times scatter so much, with medians of twice the least, that something else seems to have run.
bool AreDisturbed(const Measurements& measurements);

// A table of them, and in the last lines the median and the worst ratio of all collectives that were fitted, and of all
// that were not.
std::string CheckText(const std::vector<CheckedTimes>& checked);

}  // namespace cleave::tools

#endif  // CLEAVE_TOOLS_CALIBRATE_CHECK_H_
