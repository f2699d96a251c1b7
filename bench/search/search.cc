// Question: how good are the plans that the searches find, how long do they take, and does every number of devices
// work?
//
//   search quality|speed|odd|hand|order|published [MODEL|all [MOST_DEVICES [REPETITIONS]]]
//
// quality: for each model and cluster the cost (docs/cost.md) of data parallelism and of sapp's plan, over the cost of
//   the best plan, or, marked `<`, over a lower bound of it where the best is not proven. `hosts`: of up to 8 devices,
//   a byte between hosts is ten times as expensive.
// speed: seconds of the processor that Search takes, the least and the median, for GPT-3's shape on 1,024 devices (128
//   hosts of 8), with ten times the ops, and with sixteen times the devices.
// odd: numbers of devices with large prime factors: the ranks with work of their own, how evenly the products are
//   divided, and the cost over that of data parallelism.
// hand: for GPTs of ten sizes the predicted step of what `stages = auto` finds, over that of the best plan of
//   Megatron-LM: all sizes of tensor, pipeline and data parallelism and all numbers of micro-batches that divide the
//   model.
// order: pairs of Megatron-LM's plans for random GPTs on GPUs of random kinds: how many the price of a search puts in
//   another order than the predicted step, by more than 2 % of both.
// published: how far is the predicted time of a step from what was measured? Runs whose settings and speed were
//   published, planned as they were run.
#include <cstdlib>
#include <iostream>
#include <string>

#include "bench/search/tables.h"

int main(int argc, char** argv) {
  const std::string table = argc > 1 ? argv[1] : "";
  cleave::bench::TableOptions options;
  if (argc > 2 && std::string(argv[2]) != "all") options.model = argv[2];
  if (argc > 3) options.most_devices = std::atoll(argv[3]);
  if (argc > 4) options.repetitions = std::atoi(argv[4]);
  if (table == "quality") {
    cleave::bench::PrintQuality(options);
  } else if (table == "speed") {
    cleave::bench::PrintSpeed(options);
  } else if (table == "odd") {
    cleave::bench::PrintOdd(options);
  } else if (table == "hand") {
    cleave::bench::PrintHand(options);
  } else if (table == "order") {
    cleave::bench::PrintOrder(options);
  } else if (table == "published") {
    cleave::bench::PrintPublished(options);
  } else {
    std::cerr << "usage: search quality|speed|odd|hand|order|published [MODEL|all [MOST_DEVICES [REPETITIONS]]]\n";
    return 2;
  }
}
