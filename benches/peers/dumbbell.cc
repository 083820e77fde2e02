// The dumbbell of examples/scenario_a.rs in ns-3: N TCP connections (NewReno with SACK) over one link for 20 s.
//
//     modules="core network internet applications point-to-point traffic-control stats bridge"
//     c++ -O2 dumbbell.cc -o dumbbell $(for module in $modules; do echo -lns3-$module; done)     # apt-get install libns3-dev
//     ./dumbbell CONNECTIONS SECONDS SEED
//
// All links carry 155.52 Mbit/s and take 5 ms; segments are 1024 bytes, 1066 on the wire; windows 600,000 bytes; the buffer 636,000 bytes.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <cstdio>
#include <ctime>
#include <string>

using namespace ns3;

static uint64_t hops;
static void Sent(Ptr<const Packet>) { hops++; }

int main(int argc, char **argv) {
    unsigned connections = argc > 1 ? std::stoul(argv[1]) : 15, seconds = argc > 2 ? std::stoul(argv[2]) : 20;
    RngSeedManager::SetSeed(argc > 3 ? std::stoul(argv[3]) : 1);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1024));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(600000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(600000));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("155.52Mbps"));
    link.SetChannelAttribute("Delay", StringValue("5ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("636000B"));
    NodeContainer left(1), right(1), senders(connections), receivers(connections);
    InternetStackHelper stack;
    stack.InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    TrafficControlHelper control;
    auto join = [&](Ptr<Node> a, Ptr<Node> b) {
        NetDeviceContainer devices = link.Install(a, b);
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        control.Uninstall(devices);
        addresses.NewNetwork();
        for (unsigned end = 0; end < 2; end++) devices.Get(end)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Sent));
        return std::make_pair(devices, interfaces);
    };
    join(left.Get(0), right.Get(0));
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (unsigned i = 0; i < connections; i++) {
        join(senders.Get(i), left.Get(0));
        auto end = join(right.Get(0), receivers.Get(i));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        sinks.Add(sink.Install(receivers.Get(i)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(end.second.GetAddress(1), 5000));
        source.SetAttribute("SendSize", UintegerValue(1024));
        source.Install(senders.Get(i)).Start(Seconds(start->GetValue(0, 0.1)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Stop(Seconds(seconds));
    std::clock_t before = std::clock();
    Simulator::Run();
    double cpu = double(std::clock() - before) / CLOCKS_PER_SEC;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < connections; i++) bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    std::printf("%.3f M packet-hops/s (%.3e hops in %.2f s of CPU time); goodput %.3f Mbit/s\n", hops / cpu / 1e6, double(hops), cpu,
                bytes * 8.0 / seconds / 1e6);
}
