// Endless TCP transfers between random hosts of a fat tree in ns-3: the peer of `crates/tidegate-sim/examples/fabric.rs`.
//
//   fabric K FLOWS MICROSECONDS
//
// K pods, K^3/4 hosts; every link 10 Gbit/s and 1 us, drop-tail buffers of 2 MB. CUBIC with SACK, segments of 1460 bytes, windows of 1 MiB, ten
// segments at first, an acknowledgement for two segments, starts uniform in 0 to 200 us. Prints one line of JSON: hosts, flows, packet-hops
// (packets that links have transmitted, acknowledgements included), seconds of CPU time of the run without set-up, goodput in bit/s and drops.
//
// Paths. None of ns-3's routing protocols spreads flows over paths of equal length by a hash: nix vectors give each pair of hosts one path, and all
// of these cross the same core switch. `FatTreeRouting` computes the next hop from the addresses, and a hash of addresses and ports chooses the way up. It looks
// up no table, which is faster than any protocol of ns-3.
//
// Deviations. Packets have 2 bytes of PPP in place of 14 of Ethernet. Goodput is what the applications have read, in order. Recovery is RFC 6675's.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
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

// The first address; each link has a network of four addresses, and the links of hosts come first.
constexpr uint32_t FIRST_ADDRESS = 10u << 24;

uint32_t HostOf(Ipv4Address address) { return (address.Get() - FIRST_ADDRESS) / 4; }

// Routing by arithmetic. Interface 0 of a node is the loopback, then come the links down, in the order of what is below, then those up.
class FatTreeRouting : public Ipv4RoutingProtocol {
 public:
  enum Level { HOST, EDGE, AGGREGATION, CORE };

  // `number` counts the nodes of a level, `half` is K / 2.
  FatTreeRouting(Level level, unsigned number, unsigned half) : m_level(level), m_number(number), m_half(half) {}

  static TypeId GetTypeId() {
    static TypeId type = TypeId("FatTreeRouting").SetParent<Ipv4RoutingProtocol>();
    return type;
  }

  Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header &, Ptr<NetDevice>, Socket::SocketErrno &error) override {
    error = Socket::ERROR_NOTERROR;
    return m_routes.at(1);
  }

  bool RouteInput(Ptr<const Packet> packet, const Ipv4Header &header, Ptr<const NetDevice>, UnicastForwardCallback forward, MulticastForwardCallback,
                  LocalDeliverCallback deliver, ErrorCallback) override {
    if (m_level == HOST)
      deliver(packet, header, 1);
    else
      forward(m_routes.at(Interface(packet, header)), packet, header);
    return true;
  }

  void NotifyInterfaceUp(uint32_t) override {}
  void NotifyInterfaceDown(uint32_t) override {}
  void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void SetIpv4(Ptr<Ipv4> ipv4) override { m_ipv4 = ipv4; }
  void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  void NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address) override {
    if (m_routes.size() <= interface) m_routes.resize(interface + 1);
    Ptr<Ipv4Route> route = Create<Ipv4Route>();
    route->SetSource(address.GetLocal());
    route->SetGateway(Ipv4Address(address.GetLocal().Get() ^ 3));  // The other end: a network has the addresses 1 and 2.
    route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
    m_routes[interface] = route;
  }

 private:
  unsigned Interface(Ptr<const Packet> packet, const Ipv4Header &header) const {
    const unsigned host = HostOf(header.GetDestination()), edge = host / m_half, pod = edge / m_half;
    if (m_level == CORE) return 1 + pod;
    if (m_level == EDGE && edge == m_number) return 1 + host % m_half;
    if (m_level == AGGREGATION && pod == m_number / m_half) return 1 + edge % m_half;
    uint32_t ports;
    packet->CopyData(reinterpret_cast<uint8_t *>(&ports), sizeof ports);
    uint64_t hash = (uint64_t(header.GetSource().Get()) << 32 | header.GetDestination().Get()) * 0x9E3779B97F4A7C15 + ports + m_level;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93;
    return 1 + m_half + (hash >> 32) % m_half;
  }

  const Level m_level;
  const unsigned m_number, m_half;
  Ptr<Ipv4> m_ipv4;
  std::vector<Ptr<Ipv4Route>> m_routes;
};

// Gives the nodes of one level their routing, in the order in which it is installed.
class FatTreeHelper : public Ipv4RoutingHelper {
 public:
  FatTreeHelper(FatTreeRouting::Level level, unsigned half) : m_level(level), m_half(half) {}
  FatTreeHelper *Copy() const override { return new FatTreeHelper(*this); }
  Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override { return CreateObject<FatTreeRouting>(m_level, m_next++, m_half); }

 private:
  const FatTreeRouting::Level m_level;
  const unsigned m_half;
  mutable unsigned m_next = 0;
};

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

  auto nodes = [&](FatTreeRouting::Level level, unsigned count) {
    NodeContainer all;
    all.Create(count);
    InternetStackHelper stack;
    stack.SetRoutingHelper(FatTreeHelper(level, half));
    stack.SetIpv6StackInstall(false);
    stack.Install(all);
    return all;
  };
  const NodeContainer host = nodes(FatTreeRouting::HOST, hosts), edge = nodes(FatTreeRouting::EDGE, k * half);
  const NodeContainer aggregation = nodes(FatTreeRouting::AGGREGATION, k * half), core = nodes(FatTreeRouting::CORE, half * half);
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
  link.SetChannelAttribute("Delay", StringValue("1us"));
  link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2000000B"));
  Ipv4AddressHelper address(Ipv4Address(FIRST_ADDRESS), "255.255.255.252");
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
  // A full queue stops its device; what comes then is dropped above it.
  for (const NodeContainer &nodes : {host, edge, aggregation, core})
    for (auto node = nodes.Begin(); node != nodes.End(); node++)
      (*node)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&Dropped));
  std::vector<Ipv4Address> of(hosts);
  for (unsigned number = 0; number < hosts; number++) of[number] = join(host.Get(number), edge.Get(number / half));
  for (unsigned low = 0; low < k * half; low++)
    for (unsigned high = 0; high < half; high++) join(edge.Get(low), aggregation.Get(low / half * half + high));
  for (unsigned low = 0; low < k * half; low++)
    for (unsigned high = 0; high < half; high++) join(aggregation.Get(low), core.Get(low % half * half + high));

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
