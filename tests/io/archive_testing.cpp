// SPDX-License-Identifier: Apache-2.0
#include "io/archive_testing.h"

#include <algorithm>

namespace plumb::io {

void check_manifest(const std::string& format_name, const std::string& folder,
                    const std::string& manifest) {
  const Format& format = *format_by_name(format_name);
  const Json cases = read_json(test_data(folder) / manifest);
  ASSERT_FALSE(cases.empty());
  for (const Json& entry : cases) {
    SCOPED_TRACE(entry["file"]);
    const auto file = file_bytes(test_data(folder) / entry["file"]);
    auto listing = format.list(file, {});
    if (entry.contains("error")) {
      EXPECT_FALSE(listing.ok());
      if (!listing) expect_error(listing.error(), entry["error"]);
      continue;
    }
    auto detected = detect_format(file, {});
    EXPECT_TRUE(detected && (*detected)->name == format.name);
    if (!listing) {
      ADD_FAILURE() << listing.error().what << "; " << listing.error().where;
      continue;
    }
    EXPECT_EQ(listing->warnings.size(), entry.value("warnings", 0));
    const Json properties = entry.value("properties", Json::object());
    for (const auto& [key, value] : properties.items())
      EXPECT_NE(std::find(listing->properties.begin(), listing->properties.end(),
                          std::pair(key, value.get<std::string>())),
                listing->properties.end());
    EXPECT_EQ(listing->tensors.size(), entry["tensors"].size());
    for (size_t i = 0; i < std::min(listing->tensors.size(), entry["tensors"].size()); ++i) {
      const Json& expected = entry["tensors"][i];
      const TensorInfo& info = listing->tensors[i];
      SCOPED_TRACE(expected["name"]);
      EXPECT_EQ(info.name, expected["name"]);
      auto elements = elements_of(format, file, info);
      if (expected.contains("error")) {
        EXPECT_FALSE(elements.ok());
        if (!elements) expect_error(elements.error(), expected["error"]);
        continue;
      }
      EXPECT_EQ(dtype_text(info), expected["dtype"]);
      EXPECT_EQ(info.shape, expected["shape"].get<Shape>());
      if (elements) {
        EXPECT_EQ(hex(*elements), expected["hex"]);
      } else {
        ADD_FAILURE() << elements.error().what << "; " << elements.error().where;
      }
    }
  }
}

}  // namespace plumb::io
