// Endless TCP transfers between random hosts of a fat tree in ns-3: the peer of `crates/tidegate-sim/examples/fabric.rs`.
//
//   fabric K FLOWS MICROSECONDS
//
// K pods, K^3/4 hosts; every link 10 Gbit/s and 1 us, drop-tail buffers of 2 MB. CUBIC with SACK, segments of 1460 bytes, windows of 1 MiB, ten
// segments at first, an acknowledgement for two segments, starts uniform in 0 to 200 us. Prints one line of JSON: hosts, flows, packet-hops
// (packets that links have transmitted, acknowledgements included), seconds of CPU time of the run without set-up, goodput in bit/s and drops.
//
// Deviation. A nix vector gives each pair of hosts one shortest path; no hash spreads flows over the others. Hosts are nodes with two stacks'
// worth of headers: 40 bytes of IP and TCP, 2 of PPP.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/nix-vector-routing-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace ns3;

namespace {

uint64_t packetHops = 0;
uint64_t drops = 0;
uint64_t delivered = 0;

void Transmitted(Ptr<const Packet>) { packetHops++; }
void Dropped(Ptr<const Packet>) { drops++; }
void Delivered(Ptr<const Packet> packet, const Address &) { delivered += packet->GetSize(); }

}  // namespace

int main(int argc, char **argv) {
  const unsigned k = argc > 1 ? std::atoi(argv[1]) : 4;
  const unsigned flows = argc > 2 ? std::atoi(argv[2]) : 160;
  const unsigned microseconds = argc > 3 ? std::atoi(argv[3]) : 1000;
  const unsigned half = k / 2, hosts = k * k * k / 4;

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));

  NodeContainer host, edge, aggregation, core;
  host.Create(hosts);
  edge.Create(k * half);
  aggregation.Create(k * half);
  core.Create(half * half);
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
  link.SetChannelAttribute("Delay", StringValue("1us"));
  link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2000000B"));
  Ipv4NixVectorHelper routing;
  InternetStackHelper stack;
  stack.SetRoutingHelper(routing);
  stack.InstallAll();
  Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
  TrafficControlHelper none;
  auto join = [&](Ptr<Node> below, Ptr<Node> above) {
    NetDeviceContainer devices = link.Install(below, above);
    const Ipv4Address first = address.Assign(devices).GetAddress(0);
    none.Uninstall(devices);
    address.NewNetwork();
    for (unsigned end = 0; end < 2; end++) {
      devices.Get(end)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Transmitted));
      DynamicCast<PointToPointNetDevice>(devices.Get(end))->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    }
    return first;
  };
  std::vector<Ipv4Address> of(hosts);
  for (unsigned number = 0; number < hosts; number++) of[number] = join(host.Get(number), edge.Get(number / half));
  for (unsigned pod = 0; pod < k; pod++)
    for (unsigned low = 0; low < half; low++)
      for (unsigned high = 0; high < half; high++) {
        join(edge.Get(pod * half + low), aggregation.Get(pod * half + high));
        join(aggregation.Get(pod * half + low), core.Get(low * half + high));
      }

  Ptr<UniformRandomVariable> uniform = CreateObject<UniformRandomVariable>();
  for (unsigned flow = 0; flow < flows; flow++) {
    const unsigned from = uniform->GetInteger(0, hosts - 1);
    const unsigned to = (from + 1 + uniform->GetInteger(0, hosts - 2)) % hosts;
    const uint16_t port = 1000 + flow % 60000;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(host.Get(to));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Delivered));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(of[to], port));
    bulk.SetAttribute("SendSize", UintegerValue(1460));
    bulk.Install(host.Get(from)).Start(MicroSeconds(uniform->GetInteger(0, 200)));
  }

  Simulator::Stop(MicroSeconds(microseconds));
  const std::clock_t begun = std::clock();
  Simulator::Run();
  const double cpu = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  std::printf("{\"hosts\": %u, \"flows\": %u, \"packet_hops\": %" PRIu64 ", \"cpu_s\": %.3f, \"goodput_bps\": %.0f, \"drops\": %" PRIu64 "}\n",
              hosts, flows, packetHops, cpu, 8e6 * static_cast<double>(delivered) / microseconds, drops);
  Simulator::Destroy();
  return 0;
}
