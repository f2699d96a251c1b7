#include "frontend/optimizer/turns.h"

namespace cleave::frontend {
namespace {

ir::Scalar Whole(int64_t number) { return static_cast<double>(number); }

// A step as that of round `round`, both counted from 0.
struct Place {
  ir::Scalar round;
  ir::Scalar in_round;
};

Place PlaceOf(const Turns& turns) {
  const ir::Scalar step = ir::Variable("step");
  const ir::Scalar behind =
      turns.after == 0 ? step - 1 : ir::Maximum(step - Whole(turns.after + 1), 0);  // Steps behind the first one.
  if (turns.every == 1) return {.round = behind, .in_round = 0};
  const ir::Scalar round = ir::ToInt32(behind / Whole(turns.every));
  return {.round = round, .in_round = behind - round * Whole(turns.every)};
}

}  // namespace

StepValue IsTurn(const Turns& turns) {
  const ir::Scalar is_behind = ir::Variable("step") > Whole(turns.after);
  const ir::Scalar is_turn = PlaceOf(turns).in_round < Whole(turns.turns);
  const ir::Scalar both = turns.every == turns.turns ? is_behind
                          : turns.after == 0         ? is_turn
                                                     : ir::Select(is_behind, is_turn, 0);
  return {.formula = both, .is_condition = true, .name = "turn"};
}

StepValue TurnNumber(const Turns& turns) {
  const Place place = PlaceOf(turns);
  if (turns.turns == 1) return {.formula = place.round + 1, .name = "turns"};
  return {.formula = place.round * Whole(turns.turns) + ir::Minimum(place.in_round + 1, Whole(turns.turns)),
          .name = "turns"};
}

}  // namespace cleave::frontend
