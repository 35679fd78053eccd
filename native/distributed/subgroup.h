// Groups of some ranks of a group.
#pragma once

#include <memory>
#include <vector>

#include "group.h"

namespace openmanus {

// Called by all ranks of the parent, each with the ranks of the group that it will be in, in order;
// its own is one of them. Each new group has a coordinator of its own, in its first rank's process.
std::shared_ptr<Group> newSubgroup(Group& parent, const std::vector<int64_t>& members);

}  // namespace openmanus
