// The key-value store that torchrun's agent keeps at MASTER_ADDR:MASTER_PORT.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wire.h"

namespace openmanus {

// Sets a key, and returns when the store has it. Throws when the store does not answer in time.
void setInAgentStore(
    const std::string& host, uint16_t port, const std::string& key, const std::string& value,
    Milliseconds timeout);

// Nothing while nobody has set it.
std::optional<std::string> getFromAgentStore(
    const std::string& host, uint16_t port, const std::string& key, Milliseconds timeout);

// This machine's address as seen from there; empty when nobody listens there.
std::string addressTowards(const std::string& host, uint16_t port, Milliseconds timeout);

}  // namespace openmanus
