// The numbers that bound the work of searches, and so how near to the best plan they come.
//
//   SearchOptions options;
//   options.tuning.work = 100000;   // A quicker search, and perhaps a more expensive plan.
//
// All count work (table entries, lookups, ops, axes), not seconds, so that the same input gives the same plan on every
// machine. Another value may give another plan, but no wrong one. A value without a reason beside it is a choice:
// bench/search shows the effect of others.
#ifndef CLEAVE_SEARCH_MODEL_TUNING_TUNING_H_
#define CLEAVE_SEARCH_MODEL_TUNING_TUNING_H_

#include <cstddef>
#include <cstdint>

namespace cleave::search {

// How large the tables of one variable elimination (search/solve/minsum) may become. An entry takes 8 bytes.
struct EliminationLimits {
  int64_t entries = int64_t{1} << 26;  // Entries of the largest table: half a gigabyte.
  int64_t total = int64_t{1} << 27;    // Entries of all tables together, equal ones counted once: one gigabyte.
  // Entries. Where the first order of elimination makes no larger table than this, two more orders are not tried.
  int64_t small_table = int64_t{1} << 10;
  // Variables. A variable with more neighbours is eliminated last, because pairs of neighbours are looked at.
  size_t many_neighbours = 128;

  bool operator==(const EliminationLimits&) const = default;
};

struct SearchTuning {
  // --- The descent (search/solve/sapp/descent.h): one step gives every op some strategies and takes the best joint
  // choice.

  // Table lookups, or operations that take as long, after which a descent takes no further step; for each start.
  int64_t work = 400000;
  // Sums of an elimination that take as long as one table lookup.
  int64_t sums_per_lookup = 16;
  // Tables of a step that decides one axis, or several as one. Only very wide graphs need larger ones; these are then
  // eliminated in parts.
  EliminationLimits narrow_step{.entries = int64_t{1} << 18, .total = int64_t{1} << 22};
  // Tables of a step with many strategies for each op. It is left out where it would need larger ones.
  EliminationLimits wide_step{.entries = int64_t{1} << 15, .total = int64_t{1} << 18};
  // Tables of the step that lets every op take any strategy.
  EliminationLimits free_step{.entries = int64_t{1} << 21, .total = int64_t{1} << 23};
  // That step is left out on meshes with more axes than this, and where the price has more entries than this.
  int free_step_axes = 3;
  int64_t free_step_entries = int64_t{1} << 21;
  // Steps that move three axes at a time are left out on meshes with more axes: their number grows with the third
  // power.
  size_t triple_step_axes = 5;
  // Passes over the axes to use those that are idle. An axis that moves may leave room for one that was tried before.
  int idle_axes_passes = 2;

  // --- SAPP (search/solve/sapp/sapp.h): which plans a descent starts from, and how large graphs are made smaller.

  // Graphs with more ops to set than this are folded (search/solve/network/folding.h).
  size_t folded_ops = 200;
  // Edges along the graph within which ops must look alike to share a variable. With more, more ops are different.
  int folding_steps = 2;
  // Further edges within which the graph around a value must look alike for its price to be shared.
  int folding_value_steps = 4;
  // Of graphs with more ops to set than this, each start has `work` / `large_work_divisor`.
  size_t large_ops = 600;
  // So many equal layers of such graphs are searched (search/model/shorten): those at the ends that `folding_steps`
  // edges reach, and one in the middle, with its neighbours, for all others. Graphs that are still as large have fewer
  // starts, and are not refined unfolded in the end.
  size_t searched_layers = 9;
  int64_t large_work_divisor = 8;
  // On graphs with at most so many ops and meshes with at most so many axes no work is saved: redistributions are
  // planned in full from the beginning, and terms are split only above so many entries.
  size_t small_ops = 40;
  int small_axes = 3;
  int64_t small_term_entries = int64_t{1} << 18;
  // So many of the cheapest plans of starts.h are refined.
  size_t refined_plans = 2;

  // --- The price as a sum (search/solve/network).

  // Entries of a term's table. A larger term is split: each reader of the value is priced alone.
  int64_t term_entries = int64_t{1} << 12;
  // Variables. Terms over more of them also get the parts into which they may be split.
  size_t whole_term_variables = 3;

  // --- What planning costs, in table lookups: a part of `work`.

  // Measured: planning a redistribution over three axes in full takes as long as about 300 lookups, and twice as long
  // with each further axis.
  int64_t lookups_per_direct_way = 300;
  int64_t lookups_per_full_way = 40;  // Without any axis; twice as many for each one.

  // --- The best plan (search/solve/exact).

  // Strategies of one op. With more, tables over two ops are too large.
  double exact_strategies = 4000;
  // Entries of the tables over all strategies of all ops. With more, only a bound is looked for.
  int64_t exact_entries = int64_t{1} << 22;
  EliminationLimits exact_tables{.entries = int64_t{1} << 24, .total = int64_t{1} << 26};
  // Entries of one part of a table that is eliminated in parts, for the bound.
  int64_t part_entries = int64_t{1} << 20;
  // Counts of axes (relaxed.h) that one tensor may have. Pricing redistributions between more takes seconds.
  int64_t relaxed_counts = 8000;
  // Entries of the table of one value's price over counts, and of all of them.
  int64_t relaxed_term_entries = int64_t{1} << 20;
  int64_t relaxed_entries = int64_t{1} << 23;

  // --- Memory (search/knobs/memory): the weight of memory, the price of a kept byte.

  // Exponents of two. A weight is this power of two times the price per byte of peak of the plan without a weight.
  // Exponents grow by `memory_exponent_step` from first to last until a plan fits; the last step is then bisected.
  int first_memory_exponent = -6;
  int last_memory_exponent = 14;
  int memory_exponent_step = 5;
  // Under the objective `memory` a kept byte costs as much as this many bytes sent. With more, rounding would hide the
  // bytes sent.
  double sent_per_kept = 4096;
  // Ops of all programs that are made to improve plans under a limit. Where these are fewer than `least_improved`
  // programs, no plan is improved.
  int64_t improved_ops = 40000;
  int64_t least_improved = 200;
  // The same for trying all plans; all are tried if one program of each has no more ops.
  int64_t tried_ops = 400000;

  // --- Recomputation (search/knobs/recompute).

  // Values and fused steps looked at for one choice, but at least some thousand sets: for a small program enough to
  // prove that the choice is the best.
  int64_t recompute_work = int64_t{1} << 23;

  // --- Objectives (search/knobs/regions/polish.h): plans are compared by their programs.

  // Ops of all programs that are made for it. Making and measuring one takes some microseconds for each op.
  int64_t measured_ops = 5000;

  // --- The alternatives that a plan shows (search/solve/sapp/alternatives.h).

  // Strategies that a product could have had instead, cheapest first.
  size_t alternatives = 8;
  // On meshes with more axes their redistributions are planned directly: their costs may be too high, never too low.
  int full_alternatives_axes = 3;

  bool operator==(const SearchTuning&) const = default;
};

}  // namespace cleave::search

#endif  // CLEAVE_SEARCH_MODEL_TUNING_TUNING_H_
