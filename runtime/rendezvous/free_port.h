// For tests: a port of this machine that nobody listens on, for ranks to meet.
#ifndef CLEAVE_RUNTIME_RENDEZVOUS_FREE_PORT_H_
#define CLEAVE_RUNTIME_RENDEZVOUS_FREE_PORT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace cleave::runtime {

inline std::string FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(listener);
  return std::to_string(ntohs(address.sin_port));
}

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_RENDEZVOUS_FREE_PORT_H_
