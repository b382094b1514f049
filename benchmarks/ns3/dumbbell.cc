// The side-by-side scenarios in ns-3: bulk TCP flows, a sending host each -> router -> receiving host. Prints one line of
// key=value pairs; cpu_s is the user and system time of Simulator::Run() alone. Rates are given in bits of ns-3's own frames
// (IP and 2 bytes of PPP).
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <sys/resource.h>

using namespace ns3;

namespace
{

constexpr uint32_t SEGMENT = 1448;

rusage
Usage()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

double
CpuSeconds()
{
    rusage u = Usage();
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string cc = "TcpCubic";
    std::string qdisc = "FqCoDel";
    std::string scheduler = "Map";
    uint64_t bottleneckBps = 100'000'000;
    uint64_t accessBps = 1'000'000'000;
    double rttMs = 40;
    double duration = 30;
    double everyMs = 10;
    uint32_t flows = 1;
    uint32_t limit = 10240;
    uint32_t sendBuffer = 4u << 20;
    uint32_t receiveBuffer = 6u << 20;
    bool ecn = false;

    CommandLine cmd(__FILE__);
    cmd.AddValue("cc", "type of the congestion control (TcpCubic, TcpLinuxReno, ...)", cc);
    cmd.AddValue("qdisc", "the bottleneck's queue disc: Fifo or FqCoDel", qdisc);
    cmd.AddValue("scheduler", "ns-3's event scheduler: Map, Heap, PriorityQueue, Calendar, List", scheduler);
    cmd.AddValue("bottleneck", "rate, bit/s", bottleneckBps);
    cmd.AddValue("access", "rate of a host's line, bit/s", accessBps);
    cmd.AddValue("rtt", "base round trip time, ms", rttMs);
    cmd.AddValue("duration", "simulated seconds", duration);
    cmd.AddValue("every", "from one flow's start to the next, ms", everyMs);
    cmd.AddValue("flows", "number of flows", flows);
    cmd.AddValue("limit", "of the queue disc, packets", limit);
    cmd.AddValue("sndbuf", "send buffer, bytes", sendBuffer);
    cmd.AddValue("rcvbuf", "receive buffer, bytes", receiveBuffer);
    cmd.AddValue("ecn", "negotiate ECN, and mark", ecn);
    cmd.Parse(argc, argv);

    ObjectFactory schedulerFactory;
    schedulerFactory.SetTypeId("ns3::" + scheduler + "Scheduler");
    Simulator::SetScheduler(schedulerFactory);
    RngSeedManager::SetSeed(1);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cc)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sendBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(receiveBuffer));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));

    Time linkDelay = Seconds(rttMs / 4e3); // two links each way
    NodeContainer senders;
    senders.Create(flows);
    Ptr<Node> router = CreateObject<Node>();
    Ptr<Node> receiver = CreateObject<Node>();
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(senders);
    stack.Install(router);
    stack.Install(receiver);

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(accessBps)));
    access.SetChannelAttribute("Delay", TimeValue(linkDelay));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(bottleneckBps)));
    bottleneck.SetChannelAttribute("Delay", TimeValue(linkDelay));
    bottleneck.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));

    NetDeviceContainer bottleneckDevices = bottleneck.Install(router, receiver);
    TrafficControlHelper queueing;
    QueueSizeValue size{QueueSize(QueueSizeUnit::PACKETS, limit)};
    if (qdisc == "FqCoDel")
    {
        queueing.SetRootQueueDisc("ns3::FqCoDelQueueDisc",
                                  "MaxSize", size,
                                  "Flows", UintegerValue(1024),
                                  "Target", StringValue("5ms"),
                                  "Interval", StringValue("100ms"),
                                  "DropBatchSize", UintegerValue(64),
                                  "UseEcn", BooleanValue(ecn));
    }
    else
    {
        queueing.SetRootQueueDisc("ns3::" + qdisc + "QueueDisc", "MaxSize", size);
    }
    QueueDiscContainer queues = queueing.Install(bottleneckDevices.Get(0));

    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.255.0");
    Ipv4InterfaceContainer ends = addresses.Assign(bottleneckDevices);
    // Only the bottleneck has a queue disc; everywhere else there is none to pay for.
    TrafficControlHelper none;
    for (uint32_t i = 0; i < flows; i++)
    {
        NetDeviceContainer line = access.Install(senders.Get(i), router);
        addresses.NewNetwork();
        addresses.Assign(line);
        none.Uninstall(line);
    }
    none.Uninstall(bottleneckDevices.Get(1));
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    ApplicationContainer sinks = sink.Install(receiver);
    sinks.Start(Seconds(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(ends.GetAddress(1), 5000));
    bulk.SetAttribute("SendSize", UintegerValue(SEGMENT));
    for (uint32_t i = 0; i < flows; i++)
    {
        bulk.Install(senders.Get(i)).Start(Seconds(everyMs * i / 1e3));
    }

    Simulator::Stop(Seconds(duration));
    double began = CpuSeconds();
    Simulator::Run();
    double cpu = CpuSeconds() - began;

    uint64_t bytes = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    const QueueDisc::Stats& counted = queues.Get(0)->GetStats();
    std::printf("packets=%llu goodput_bps=%.0f drops=%u marks=%u events=%llu cpu_s=%.4f maxrss_kb=%ld\n",
                static_cast<unsigned long long>(bytes / SEGMENT), bytes * 8 / duration, counted.nTotalDroppedPackets,
                counted.nTotalMarkedPackets, static_cast<unsigned long long>(Simulator::GetEventCount()), cpu,
                Usage().ru_maxrss);
    Simulator::Destroy();
    return 0;
}
