// SPDX-License-Identifier: Apache-2.0
//
// How an FFTS+ operator was cut into slices: a JSON text in a dump header's attributes, recognised
// by its member `threadMode`.
#include <fmt/format.h>
#include <simdjson.h>

#include "io/ascend_dump.h"

namespace plumb::io {
namespace {

namespace dom = simdjson::dom;

// False if the JSON is not what the type needs.
bool read(dom::element json, int64_t& out) { return json.get(out) == simdjson::SUCCESS; }

bool read(dom::element json, FftsSlices::Range& out) {
  return json["lower"].get(out.lower) == simdjson::SUCCESS &&
         json["higher"].get(out.higher) == simdjson::SUCCESS && 0 <= out.lower &&
         out.lower <= out.higher;
}

template <class T>
bool read(dom::element json, std::vector<T>& out) {
  dom::array list;
  if (json.get(list) != simdjson::SUCCESS) return false;
  for (dom::element member : list)
    if (!read(member, out.emplace_back())) return false;
  return true;
}

// True also if there is no such member: `out` then stays empty.
template <class T>
bool read_member(const dom::object& json, const char* key, T& out) {
  dom::element member;
  return json[key].get(member) != simdjson::SUCCESS || read(member, out);
}

}  // namespace

Result<std::optional<FftsSlices>> ffts_slices_from_json(std::string_view text) {
  const std::optional<FftsSlices> none;
  if (text.find("threadMode") == std::string_view::npos) return none;
  dom::parser parser;
  dom::object json;
  if (parser.parse(text.data(), text.size()).get(json) != simdjson::SUCCESS) return none;
  FftsSlices slices;
  int64_t mode = 0;
  if (json["threadMode"].get(slices.automatic) != simdjson::SUCCESS) {
    if (json["threadMode"].get(mode) != simdjson::SUCCESS) return none;
    slices.automatic = mode != 0;
  }
  const char* damaged =
      !read_member(json, "slice_instance_num", slices.instances)  ? "slice_instance_num"
      : !read_member(json, "outputCutList", slices.output_cuts)   ? "outputCutList"
      : !read_member(json, "input_tensor_slice", slices.inputs)   ? "input_tensor_slice"
      : !read_member(json, "output_tensor_slice", slices.outputs) ? "output_tensor_slice"
                                                                  : nullptr;
  if (damaged != nullptr)
    return Error{"FFTS+ slice description is damaged", fmt::format("member '{}'", damaged),
                 "dump the operator again"};
  return std::optional(std::move(slices));
}

}  // namespace plumb::io
