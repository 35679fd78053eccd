// What really went over this process's connections, as the system counts it.
#include "traffic.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

namespace openmanus {

Traffic socketTraffic() {
  Traffic total;
  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return total;
  while (const dirent* entry = readdir(folder)) {
    tcp_info info{};
    socklen_t length = sizeof info;
    // What is no TCP connection refuses the question.
    const int descriptor = std::atoi(entry->d_name);
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) continue;
    total.sent += static_cast<int64_t>(info.tcpi_bytes_acked);
    total.received += static_cast<int64_t>(info.tcpi_bytes_received);
  }
  closedir(folder);
  return total;
}

}  // namespace openmanus
