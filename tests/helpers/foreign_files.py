"""Small files of other tools, as data or as text."""

RAW = {"t": 1700000001.0, "val": 10.0, "dur": 1.0}
FLENT = {
    "version": 4,
    "x_values": [0.0, 1.0],
    "results": {"TCP upload": [None, 10.0]},
    "raw_values": {"TCP upload": [RAW]},
    "metadata": {"NAME": "tcp_1up", "STEP_SIZE": 1.0, "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}}},
}
STREAM = {"socket": 5, "start": 0, "end": 1, "seconds": 1, "bytes": 1000, "bits_per_second": 8000}
IPERF3 = {
    "start": {"connected": [{"socket": 5, "local_port": 1, "remote_port": 2}], "test_start": {"protocol": "TCP"}, "version": "iperf 3.12"},
    "intervals": [{"streams": [STREAM]}],
    "end": {},
}
TIMES = {"client": {"send": {"wall": 1}, "receive": {"wall": 2}}}
TRIP = {"seqno": 0, "lost": "false", "timestamps": TIMES, "delay": {"rtt": 1, "send": 1, "receive": 1}}
IRTT = {"version": {"irtt": "0.9.0", "json_format": 1}, "round_trips": [TRIP]}
SS = "ESTAB 0 0 1.1.1.1:1 2.2.2.2:2\n\t cubic rtt:1/1 mss:1448 cwnd:10 bytes_acked:100\n"
SIFTR = "enable_time_secs=1\tenable_time_usecs=0\tsiftrver=1.2.2\thz=1000\ttcp_rtt_scale=32\n"
