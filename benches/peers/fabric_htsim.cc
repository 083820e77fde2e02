// Endless TCP transfers between random hosts of a fat tree in htsim: a peer of `crates/tidegate-sim/examples/fabric.rs`.
//
//   fabric_htsim K FLOWS MICROSECONDS
//
// It is linked with a built htsim (https://github.com/Broadcom/csg-htsim). K pods, K^3/4 hosts; every link 10 Gbit/s and 1 us, buffers of 2 MB, starts
// uniform in 0 to 200 us. Prints one line of JSON: hosts, flows, packet-hops (packets that links have transmitted, acknowledgements included),
// seconds of CPU time of the run without set-up, goodput in bit/s.
//
// Deviations. htsim's TCP is NewReno without SACK, acknowledges every segment, and takes a random one of the shortest paths per flow; its packets are 1500
// bytes. Packet-hops are computed from the packets that senders have sent and receivers have acknowledged, and the lengths of their paths; those under
// way at the end count as if they had arrived.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <vector>

#include "clock.h"
#include "eventlist.h"
#include "fat_tree_topology.h"
#include "network.h"
#include "tcp.h"

EventList eventlist;

namespace {

struct Flow {
  TcpSrc *source;
  TcpSink *sink;
  unsigned hops, hops_back;
};

// A route holds a queue and a pipe for each link.
unsigned links(const Route *route) { return route->size() / 2; }

}  // namespace

int main(int argc, char **argv) {
  const unsigned k = argc > 1 ? std::atoi(argv[1]) : 4;
  const unsigned count = argc > 2 ? std::atoi(argv[2]) : 160;
  const unsigned microseconds = argc > 3 ? std::atoi(argv[3]) : 1000;
  const unsigned hosts = k * k * k / 4;
  // Its constructors write to standard output.
  std::cout.setstate(std::ios_base::failbit);
  eventlist.setEndtime(timeFromUs(microseconds));
  Packet::set_packet_size(1500);
  std::srand(1);
  FatTreeTopology topology(hosts, speedFromMbps(10000.0), 2000000, nullptr, &eventlist, nullptr, RANDOM, timeFromUs(1u), 0, FAIR_PRIO);
  TcpRtxTimerScanner scanner(timeFromMs(10), eventlist);
  std::vector<Flow> flows;
  for (unsigned flow = 0; flow < count; flow++) {
    const unsigned from = std::rand() % hosts, to = (from + 1 + std::rand() % (hosts - 1)) % hosts;
    auto path = [&](unsigned a, unsigned b, PacketSink *end) {
      std::vector<const Route *> *paths = topology.get_bidir_paths(a, b, false);
      Route *route = new Route(*paths->at(std::rand() % paths->size()));
      for (const Route *other : *paths) delete other;
      delete paths;
      const unsigned hops = links(route);
      route->push_back(end);
      return std::make_pair(route, hops);
    };
    TcpSrc *source = new TcpSrc(nullptr, nullptr, eventlist);
    TcpSink *sink = new TcpSink();
    scanner.registerTcp(*source);
    auto [ahead, hops] = path(from, to, sink);
    auto [back, hops_back] = path(to, from, source);
    source->connect(*ahead, *back, *sink, timeFromUs(static_cast<uint32_t>(std::rand() % 200)));
    flows.push_back({source, sink, hops, hops_back});
  }
  const std::clock_t begun = std::clock();
  while (eventlist.doNextEvent()) {
  }
  const double cpu = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  unsigned long long packet_hops = 0, delivered = 0;
  for (const Flow &flow : flows) {
    packet_hops += flow.source->_packets_sent / 1500 * flow.hops + flow.sink->_packets / 1500 * flow.hops_back;
    delivered += flow.sink->_cumulative_ack;
  }
  std::printf("{\"hosts\": %u, \"flows\": %u, \"packet_hops\": %llu, \"cpu_s\": %.3f, \"goodput_bps\": %.0f}\n", hosts, count, packet_hops, cpu,
              8e6 * static_cast<double>(delivered) / microseconds);
  return 0;
}
