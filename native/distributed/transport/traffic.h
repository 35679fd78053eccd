// Bytes over the connections that this process has open.
#pragma once

#include <cstdint>

namespace openmanus {

struct Traffic {
  int64_t sent = 0;  // and confirmed by the other side
  int64_t received = 0;
};

Traffic socketTraffic();

}  // namespace openmanus
