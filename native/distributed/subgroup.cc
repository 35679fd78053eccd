#include "subgroup.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "distributed/collectives/collectives.h"
#include "door/node.h"

namespace openmanus {

namespace {

// What a rank tells the others of the group that it will be in.
struct Announcement {
  std::vector<int64_t> members;
  // Of the first member: where its coordinator listens, or why it does not.
  std::string host;
  int64_t port = 0;
  std::string problem;

  at::Tensor bytes() const {
    MessageWriter writer(0);
    writer.integer(static_cast<int64_t>(members.size()));
    for (const int64_t member : members) writer.integer(member);
    writer.text(host).integer(port).text(problem);
    const std::string& text = writer.bytes();
    const at::Tensor result = at::empty({static_cast<int64_t>(text.size())}, at::kByte);
    memcpy(result.data_ptr(), text.data(), text.size());
    return result;
  }

  static Announcement read(const at::Tensor& bytes) {
    const at::Tensor whole = bytes.contiguous();
    const std::string text(
        static_cast<const char*>(whole.data_ptr()), static_cast<size_t>(whole.numel()));
    MessageReader reader(text);
    Announcement result;
    for (int64_t left = reader.integer(); left > 0; --left)
      result.members.push_back(reader.integer());
    result.host = reader.text();
    result.port = reader.integer();
    result.problem = reader.text();
    return result;
  }
};

std::string listOf(const std::vector<int64_t>& members) {
  std::string text = "[";
  for (size_t i = 0; i < members.size(); ++i) text += (i ? ", " : "") + std::to_string(members[i]);
  return text + "]";
}

int placeIn(const std::vector<int64_t>& members, int rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

void requireMembers(const Group& parent, const std::vector<int64_t>& members) {
  std::vector<int64_t> sorted = members;
  std::sort(sorted.begin(), sorted.end());
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  const bool outside = sorted.empty() || sorted.front() < 0 || sorted.back() >= parent.world();
  if (twice || outside || placeIn(members, parent.rank()) < 0)
    throw ArgumentError(
        "subgroup: expected different ranks from 0 to " + std::to_string(parent.world() - 1) +
        ", this rank (" + std::to_string(parent.rank()) + ") among them, got " + listOf(members));
}

// All ranks see all announcements, so all find the same disagreement.
void requireAgreement(const std::vector<Announcement>& all) {
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].problem.empty()) throw std::runtime_error(all[rank].problem);
    for (const int64_t member : all[rank].members)
      if (all[static_cast<size_t>(member)].members != all[rank].members)
        throw ArgumentError(
            "subgroup: rank " + std::to_string(rank) + " gives " + listOf(all[rank].members) +
            ", rank " + std::to_string(member) + " gives " +
            listOf(all[static_cast<size_t>(member)].members) +
            "; the ranks of a group must all name the same ranks in the same order");
  }
}

}  // namespace

std::shared_ptr<Group> newSubgroup(Group& parent, const std::vector<int64_t>& members) {
  requireMembers(parent, members);
  GroupOptions options = parent.options();
  options.rank = placeIn(members, parent.rank());
  options.world = static_cast<int>(members.size());
  Announcement own{members, parent.address(), 0, ""};
  std::unique_ptr<Coordinator> coordinator;
  if (options.rank == 0 && options.world > 1) {
    try {
      coordinator = std::make_unique<Coordinator>(
          own.host, 0, options.world, options.joinTimeout, settingsOf(options));
      own.port = coordinator->port();
    } catch (const std::exception& error) {
      own.problem = "subgroup: rank " + std::to_string(parent.rank()) +
                    " cannot lead a group: " + error.what();
    }
  }
  std::vector<Announcement> all;
  for (const at::Tensor& bytes : allGatherBytes(parent, own.bytes()))
    all.push_back(Announcement::read(bytes));
  requireAgreement(all);
  const Announcement& first = all[static_cast<size_t>(members[0])];
  options.host = first.host;
  options.port = static_cast<uint16_t>(first.port);
  return std::make_shared<Group>(options, std::move(coordinator));
}

}  // namespace openmanus
