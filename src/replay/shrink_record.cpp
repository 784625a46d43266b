// SPDX-License-Identifier: Apache-2.0
#include "replay/shrink_record.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/crc32.h"
#include "base/file_sink.h"
#include "base/json_values.h"
#include "base/mapped_file.h"
#include "base/number_from_text.h"

namespace plumb::replay {
namespace {

using Places = std::vector<size_t>;

constexpr const char* kShrinkSchema = "plumb.shrink/1";
constexpr size_t kMostNodes = size_t{1} << 24;  // "0-99999999999" must not fill the memory

// "0-361,400"
std::string ranges_text(const Places& places) {
  std::string text;
  for (size_t i = 0; i < places.size();) {
    size_t last = i;
    while (last + 1 < places.size() && places[last + 1] == places[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", places[i]);
    if (last > i) text += fmt::format("-{}", places[last]);
    i = last + 1;
  }
  return text;
}

std::optional<Places> places_from(std::string_view text, size_t count) {
  Places places;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    size_t first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || last < first || last >= count ||
        (!places.empty() && first <= places.back()))
      return std::nullopt;
    for (size_t place = first; place <= last; ++place) places.push_back(place);
    at = read.ptr;
    if (at != end && *at++ != ',') return std::nullopt;
  }
  return places;
}

Places all_but(const Places& kept, size_t count) {
  Places others;
  for (size_t i = 0, k = 0; i < count; ++i)
    if (k < kept.size() && kept[k] == i)
      ++k;
    else
      others.push_back(i);
  return others;
}

Json json_of(const FileMark& mark) {
  return {{"path", mark.path},
          {"bytes", mark.bytes},
          {"crc32", fmt::format("{:08x}", mark.crc32)},
          {"nodes", mark.nodes}};
}

FileMark mark_from(const Json& json) {
  FileMark mark{json.at("path"), json.at("bytes"), 0, json.at("nodes")};
  const std::string crc = json.at("crc32");
  mark.crc32 = number_from_text<uint32_t>(crc, 16).value_or(0);
  return mark;
}

Json json_of(const Part& part) {
  Json json{{"nodes", ranges_text(part.nodes)}};
  json["dropped_outputs"] = part.dropped;
  json["folds_constants"] = part.folds_constants;
  json["drops_value_infos"] = part.drops_value_infos;
  return json;
}

Json json_of(const ShrinkStep& step, size_t count) {
  Json json{{"removed", ranges_text(all_but(step.part.nodes, count))}, {"nodes", step.nodes}};
  if (!step.part.dropped.empty()) json["dropped_outputs"] = step.part.dropped;
  if (step.part.folds_constants) json["folds_constants"] = true;
  if (step.part.drops_value_infos) json["drops_value_infos"] = true;
  json["verdict"] = text_of(step.checked.verdict);
  json["status"] = step.checked.status ? Json(*step.checked.status) : Json(nullptr);
  json["seconds"] = static_cast<double>(static_cast<int64_t>(step.seconds * 1000)) / 1000;
  return json;
}

Result<ShrinkRecord> record_from(const Json& json) {
  const auto bad = [](std::string what) {
    return Error{std::move(what), "", "name a file that `plumb shrink` wrote"};
  };
  if (!json.is_object() || json.value("schema", "") != kShrinkSchema)
    return bad(fmt::format("this is no record of `plumb shrink` (schema {})", kShrinkSchema));
  ShrinkRecord record;
  record.arguments = json.at("arguments").get<std::vector<std::string>>();
  record.command = json.at("check");
  record.original = mark_from(json.at("model"));
  const Json& result = json.at("result");
  record.result = mark_from(result);
  const Json& part = result.at("part");
  auto places =
      places_from(part.at("nodes").get<std::string>(), std::min(record.original.nodes, kMostNodes));
  if (!places || places->empty()) return bad("the record names nodes that the model cannot have");
  record.part.nodes = std::move(*places);
  for (const Json& name : part.at("dropped_outputs")) record.part.dropped.insert(name);
  record.part.folds_constants = part.at("folds_constants");
  record.part.drops_value_infos = part.at("drops_value_infos");
  record.node_names = result.at("node_names").get<std::vector<std::string>>();
  record.is_minimal = result.at("is_minimal");
  for (const auto& [name, type] : result.at("types").items())
    record.types[name] = {dtype_from_name(type.at("dtype").get<std::string>()),
                          type.at("shape").get<Shape>()};
  record.values = result.at("values").get<std::vector<std::string>>();
  return record;
}

}  // namespace

FileMark mark_of(std::string path, Bytes file, size_t nodes) {
  return {std::move(path), file.size(), crc32(0, file), nodes};
}

Result<void> write_record(const std::filesystem::path& path, const ShrinkRecord& record) {
  Json result = json_of(record.result);
  result["is_minimal"] = record.is_minimal;
  result["part"] = json_of(record.part);
  result["node_names"] = record.node_names;
  result["types"] = Json::object();
  for (const auto& [name, type] : record.types)
    if (type.dtype && type.shape)
      result["types"][name] = {{"dtype", name_of(*type.dtype)}, {"shape", *type.shape}};
  result["values"] = record.values;
  const Json head{{"schema", kShrinkSchema},           {"tool", tool_json()},
                  {"arguments", record.arguments},     {"check", record.command},
                  {"model", json_of(record.original)}, {"result", std::move(result)}};
  std::string text = line_of_json(head);
  text.pop_back();  // the closing brace: steps follow, one on each line
  text += ",\n\"steps\":[";
  for (size_t i = 0; i < record.steps.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    text += line_of_json(json_of(record.steps[i], record.original.nodes));
  }
  text += "\n]}\n";
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

Result<ShrinkRecord> read_record(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  const Json json = parse_json(as_text(file->bytes()));
  try {
    auto record = record_from(json);
    if (!record) return std::move(record.error()).in(path.string());
    record->path = path.string();
    return record;
  } catch (const nlohmann::json::exception& exception) {
    return Error{"the record of `plumb shrink` is damaged",
                 fmt::format("{}: {}", path.string(), exception.what()), "shrink the model again"};
  }
}

}  // namespace plumb::replay
