// SPDX-License-Identifier: Apache-2.0
//
// Layouts by name, for tests that know the names.
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "tensor/layout/layout.h"

namespace plumb {

inline Layout layout(std::string_view name, int groups = 1) {
  const auto found = layout_from_name(name);
  EXPECT_TRUE(found) << name;
  return {found.value().number, groups};
}

}  // namespace plumb
