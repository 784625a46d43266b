// SPDX-License-Identifier: Apache-2.0
#include "pair/member_names.h"

#include <algorithm>
#include <functional>

namespace plumb::pair {

void MemberNames::add(std::string_view name) {
  if (name.empty() || !names_.insert(name).second) return;
  const auto at = std::lower_bound(lengths_.begin(), lengths_.end(), name.size(), std::greater<>());
  if (at == lengths_.end() || *at != name.size()) lengths_.insert(at, name.size());
}

Members MemberNames::split(std::string_view name) const {
  constexpr size_t kLongest = 4096;
  if (names_.contains(name)) return {{name}, false};
  if (name.size() > kLongest) return {};
  // From the end: how long the name is that starts here if the rest can be cut completely, longer
  // names first.
  std::vector<size_t> cut(name.size() + 1, 0);
  const auto rest_of = [&](size_t at) {  // behind a separator, if there is one
    if (at == name.size() || cut[at] > 0) return at;
    return name[at] == '_' && at + 1 < name.size() && cut[at + 1] > 0 ? at + 1
                                                                      : std::string_view::npos;
  };
  for (size_t at = name.size(); at-- > 0;) {
    for (size_t length : lengths_) {
      if (length > name.size() - at || rest_of(at + length) == std::string_view::npos) continue;
      if (!names_.contains(name.substr(at, length))) continue;
      cut[at] = length;
      break;
    }
  }
  Members members;
  if (cut[0] > 0) {
    for (size_t at = 0; at < name.size();) {
      members.names.push_back(name.substr(at, cut[at]));
      at = rest_of(at + cut[at]);
    }
    return members;
  }
  for (size_t length : lengths_) {
    if (length >= name.size() || (name[length] != '_' && name[length] != '/')) continue;
    if (!names_.contains(name.substr(0, length))) continue;
    return {{name.substr(0, length)}, true};
  }
  return members;
}

}  // namespace plumb::pair
