// Bulk TCP transfers over one bottleneck in ns-3: the peer of `crates/tidegate-sim/examples/scenario_a.rs`.
//
//   dumbbell CONNECTIONS SECONDS SEED
//
// CONNECTIONS senders, two switches, as many receivers; every link 155.52 Mbit/s and 5 ms. NewReno with SACK, 1024-byte segments (1066 bytes
// on the wire), windows of 600,000 bytes, every segment acknowledged, drop-tail buffer of 636,000 bytes, starts uniform in 0 to 100 ms. Prints
// one line of JSON: seconds of CPU time, packet-hops (packets that links have transmitted, acknowledgements included), events, goodput in
// bit/s after the first quarter and in all, and the packets that were dropped.
//
//   apt-get install libns3-dev
//   c++ -O3 dumbbell.cc -o dumbbell -lns3-core -lns3-network -lns3-internet -lns3-point-to-point -lns3-applications -lns3-traffic-control \
//     -lns3-stats -lns3-bridge

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

using namespace ns3;

namespace {

uint64_t packetHops = 0;
uint64_t drops = 0;
uint64_t delivered = 0;
uint64_t deliveredEarly = 0;

void Transmitted(Ptr<const Packet>) { packetHops++; }
void Dropped(Ptr<const Packet>) { drops++; }
void Delivered(Ptr<const Packet> packet, const Address &) { delivered += packet->GetSize(); }
void EndOfStart() { deliveredEarly = delivered; }

}  // namespace

int main(int argc, char **argv) {
  const unsigned flows = argc > 1 ? std::atoi(argv[1]) : 15;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 20.0;
  const unsigned seed = argc > 3 ? std::atoi(argv[3]) : 1;
  const double warmUp = seconds / 4;
  RngSeedManager::SetSeed(seed);

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1024));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(600000));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(600000));

  NodeContainer switches, senders, receivers;
  switches.Create(2);
  senders.Create(flows);
  receivers.Create(flows);

  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("155520000bps"));
  link.SetChannelAttribute("Delay", StringValue("5ms"));
  link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("636000B"));

  InternetStackHelper stack;
  stack.InstallAll();
  Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
  TrafficControlHelper none;

  auto join = [&](Ptr<Node> a, Ptr<Node> b, NetDeviceContainer &devices) {
    devices = link.Install(a, b);
    Ipv4InterfaceContainer interfaces = address.Assign(devices);
    // What the address helper has put in front of the device's own queue.
    none.Uninstall(devices);
    address.NewNetwork();
    for (unsigned end = 0; end < 2; end++) {
      devices.Get(end)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Transmitted));
    }
    return interfaces;
  };

  NetDeviceContainer bottleneck, access;
  join(switches.Get(0), switches.Get(1), bottleneck);
  // A full queue stops its device; what comes then is dropped above it.
  DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
  switches.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&Dropped));

  Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
  for (unsigned flow = 0; flow < flows; flow++) {
    join(senders.Get(flow), switches.Get(0), access);
    const Ipv4InterfaceContainer far = join(switches.Get(1), receivers.Get(flow), access);
    const uint16_t port = 5000;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(receivers.Get(flow));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Delivered));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), port));
    bulk.SetAttribute("SendSize", UintegerValue(1024));
    ApplicationContainer sources = bulk.Install(senders.Get(flow));
    sources.Start(Seconds(start->GetValue(0.0, 0.1)));
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  Simulator::Schedule(Seconds(warmUp), &EndOfStart);
  Simulator::Stop(Seconds(seconds));
  const std::clock_t begun = std::clock();
  Simulator::Run();
  const double cpu = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  const double late = 8.0 * static_cast<double>(delivered - deliveredEarly) / (seconds - warmUp);
  const double whole = 8.0 * static_cast<double>(delivered) / seconds;
  std::printf("{\"cpu_s\": %.3f, \"packet_hops\": %" PRIu64 ", \"events\": %" PRIu64 ", \"goodput_after_start\": %.0f, \"goodput\": %.0f, \"drops\": %" PRIu64 "}\n",
              cpu, packetHops, Simulator::GetEventCount(), late, whole, drops);
  Simulator::Destroy();
  return 0;
}
