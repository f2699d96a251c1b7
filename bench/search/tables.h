// The tables that the program prints.
#ifndef CLEAVE_BENCH_SEARCH_TABLES_H_
#define CLEAVE_BENCH_SEARCH_TABLES_H_

#include <cstdint>
#include <string>

namespace cleave::bench {

struct TableOptions {
  std::string model;               // Only this one; empty: all.
  int64_t most_devices = 1 << 20;  // Larger numbers are left out.
  int repetitions = 5;             // How often what is timed is repeated.
};

// How far plans are from the best one.
void PrintQuality(const TableOptions& options);

// How long searches take, and how that grows with ops and devices.
void PrintSpeed(const TableOptions& options);

// The plans for numbers of devices that are not powers of two.
void PrintOdd(const TableOptions& options);

// What is found beside the best plan that people write.
void PrintHand(const TableOptions& options);

// Whether the price of a search puts plans into the order of their predicted steps.
void PrintOrder(const TableOptions& options);

// What is predicted beside what was measured by others.
void PrintPublished(const TableOptions& options);

}  // namespace cleave::bench

#endif  // CLEAVE_BENCH_SEARCH_TABLES_H_
