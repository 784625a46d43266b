// SPDX-License-Identifier: Apache-2.0
//
// A piece of a drawing between two rows of one element each (or the ends): in which order the
// elements of each row stand, and where. Elements are numbered row by row, so that equal blocks of
// a network are equal pieces and are worked out once.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace plumb::graph {

struct Piece {
  std::vector<int32_t> row;                 // where each row starts; one more at the end
  std::vector<uint8_t> is_bend;             // of each element
  std::vector<std::vector<int32_t>> below;  // of each element, its neighbours in the next row

  auto operator<=>(const Piece&) const = default;
  size_t rows() const { return row.size() - 1; }
  int32_t width(size_t r) const { return row[r + 1] - row[r]; }
  int32_t size() const { return row.back(); }
};

struct Spacing {
  double node = 120, node_gap = 24, bend_gap = 10, node_bend_gap = 14;
};

// The elements of each row from left to right, one row behind the other, with few crossings.
std::vector<int32_t> order_piece(const Piece& piece);

// The middle of each element. A first or last row of one element is at 0.
std::vector<float> place_piece(const Piece& piece, const std::vector<int32_t>& order,
                               const Spacing& spacing);

}  // namespace plumb::graph
