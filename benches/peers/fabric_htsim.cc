// Endless TCP transfers between random hosts of a fat tree in htsim: a peer of `crates/tidegate-sim/examples/fabric.rs`.
//
//   fabric_htsim K FLOWS MICROSECONDS
//
// It is linked with a built htsim (https://github.com/Broadcom/csg-htsim). K pods, K^3/4 hosts; every link 10 Gbit/s and 1 us, buffers of 2 MB, windows of
// 1 MiB, ten segments at first, starts uniform in 0 to 200 us. Prints one line of JSON: hosts, flows, packet-hops (packets that links have transmitted,
// acknowledgements included), seconds of CPU time of the run without set-up, goodput in bit/s and drops.
//
// Deviations. htsim's TCP is NewReno without SACK, acknowledges every segment, and takes a random one of the shortest paths per flow; its packets are 1500
// bytes, all of them data, and acknowledgements 40. The last three packets of a buffer are lost with a probability of 0.1 (`RandomQueue`). Hosts send
// acknowledgements before data (`FairPriorityQueue`, 1000 packets of each priority). Timeouts are seen every 10 ms.

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
};

// Counts what all queues transmit and drop.
class Counter : public QueueLogger {
 public:
  void logQueue(BaseQueue &, QueueEvent event, Packet &) override {
    if (event == PKT_SERVICE) transmitted++;
    if (event == PKT_DROP) dropped++;
  }

  unsigned long long transmitted = 0, dropped = 0;
};

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
  Counter counter;
  for (const auto *queues : {&topology.queues_nc_nup, &topology.queues_nup_nlp, &topology.queues_nlp_ns, &topology.queues_nup_nc, &topology.queues_nlp_nup,
                             &topology.queues_ns_nlp})
    for (const auto &from : *queues)
      for (const auto &to : from)
        for (BaseQueue *queue : to)
          if (queue) queue->setLogger(&counter);
  TcpRtxTimerScanner scanner(timeFromMs(10), eventlist);
  std::vector<Flow> flows;
  for (unsigned flow = 0; flow < count; flow++) {
    const unsigned from = std::rand() % hosts, to = (from + 1 + std::rand() % (hosts - 1)) % hosts;
    auto path = [&](unsigned a, unsigned b, PacketSink *end) {
      std::vector<const Route *> *paths = topology.get_bidir_paths(a, b, false);
      Route *route = new Route(*paths->at(std::rand() % paths->size()));
      for (const Route *other : *paths) delete other;
      delete paths;
      route->push_back(end);
      return route;
    };
    TcpSrc *source = new TcpSrc(nullptr, nullptr, eventlist);
    TcpSink *sink = new TcpSink();
    source->set_ssthresh(0xffffffff);
    source->_maxcwnd = 1 << 20;
    scanner.registerTcp(*source);
    source->connect(*path(from, to, sink), *path(to, from, source), *sink, timeFromUs(static_cast<uint32_t>(std::rand() % 200)));
    flows.push_back({source, sink});
  }
  const std::clock_t begun = std::clock();
  while (eventlist.doNextEvent()) {
  }
  const double cpu = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  unsigned long long delivered = 0;
  for (const Flow &flow : flows) delivered += flow.sink->_cumulative_ack;
  std::printf("{\"hosts\": %u, \"flows\": %u, \"packet_hops\": %llu, \"cpu_s\": %.3f, \"goodput_bps\": %.0f, \"drops\": %llu}\n", hosts, count,
              counter.transmitted, cpu, 8e6 * static_cast<double>(delivered) / microseconds, counter.dropped);
  return 0;
}
