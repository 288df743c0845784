package main

// own is a value of the benchmark that a metric belongs to.
func own(unit string) source { return source{unit: unit} }

// below is a target of at most so much, above of at least.
func below(bound float64) target { return target{kind: atMost, plus: bound} }
func above(bound float64) target { return target{kind: atLeast, plus: bound} }

// times is a target of at most so many times another value, and a constant.
func times(factor float64, of source, plus float64) target {
	return target{kind: atMost, of: of, factor: factor, plus: plus}
}

// exactly makes a target one of a value that is computed: it may not be missed at all.
func exactly(t target) target { t.exact = true; return t }

// metrics is everything that the bench measures, in the order of its parts. Sizes are in bytes, times in seconds.
var metrics = []metric{
	{"Host/start", "p50-sec", "RunTask accepted -> started, p50", times(1.15, own("containerd-p50-sec"), 0), own("containerd-p50-sec")},
	{"Host/start", "p99-sec", "RunTask accepted -> started, p99", below(0.5), own("containerd-p99-sec")},
	{"Host/run", "p50-sec", "pinion run attached, start -> end of its process, p50", times(1.25, own("ctr-p50-sec"), 0), own("ctr-p50-sec")},
	{"Host/reply", "p50-sec", "RunTask reply, one client, p50", times(3, own("fdatasync-p50-sec"), 0.002), own("fdatasync-p50-sec")},
	{"LongLog", "lines/s", "log of 1 GB in lines of 100 bytes, read back", above(1_000_000), own("bare-lines/s")},
	{"LongLog", "written-lines/s", "the same, written by the container's logger", target{}, source{}},
	{"LongLog", "own-B/line", "the same, bytes of a line that are ours", exactly(below(30)), source{}},
	{"Follow", "p50-sec", "logs -f on a host: a line is written -> emitted, p50", below(0.003), own("pipe-p50-sec")},
	{"Follow", "p99-sec", "the same, p99", below(0.015), own("pipe-p99-sec")},
	{"Host/restart", "p50-sec", "kill -9 of pinion, start -> 8 tasks re-adopted, p50", below(5), own("max-sec")},
	{"Host/restart", "stop-p50-sec", "... -> one of them stopped by command, p50", below(5), source{}},
	{"Host/gpu-fault", "p50-sec", "an Xid error of a GPU -> the API says so, p50", below(1), source{}},
	{"Host/gpu-fault", "p99-sec", "the same, p99", below(1), own("p50-sec")},
	{"Host/idle", "pinion-B", "idle memory: pinion (VmRSS)", below(60e6), source{}},
	{"Host/idle", "total-B", "idle memory: with its containerd", below(110e6), own("containerd-B")},

	{"Verify", "sec/op", "check of one signature", below(40e-6), source{"Sign", "sec/op"}},
	{"Authorize", "rights-sec", "one request: cluster, teams and limits of a key, beside an administrator's", below(10e-6), own("admin-sec")},
	{"PageThrough", "sec/op", "ListTasks and DescribeTasks of 100,000 tasks, page by page", below(10), source{}},
	{"PageThrough", "heap-growth-B", "the same: growth of the live heap, the client's with it", below(100e6), own("heap-before-B")},
	{"ListDefinitions", "revisions-sec", "ListTaskDefinitions, a page of 100 of 100,000 revisions", below(0.002), own("empty-sec")},
	{"ListDefinitions", "families-sec", "ListTaskDefinitionFamilies, a page of 100 of 1,000", below(0.002), own("empty-sec")},
	{"DescribeTasks/clients=8", "answers/s", "DescribeTasks of one task, signed, TLS, 8 clients beside the host", above(8000), own("host-CPU-sec/answer")},
	{"DescribeTasks/clients=8", "client-CPU-sec/answer", "the same: CPU of the clients for each answer", target{}, source{}},
	{"DescribeTasks/slow-clients=1000", "p99-sec", "the same, one client, beside 1000 that are slow, p99", times(2, own("alone-p99-sec"), 0), own("alone-p99-sec")},
	{"Host/ps", "p50-sec", "pinion ps -a with 10,000 tasks, its whole process, p50", below(0.15), own("version-p50-sec")},
	{"DescribeTasks/follower", "p50-sec", "DescribeTasks of 100 tasks through a follower, p50", below(0.003), own("leader-p50-sec")},
	{"DescribeTasks/follower", "p99-sec", "DescribeTasks of 100 tasks through a follower, p99", below(0.015), own("leader-p99-sec")},

	{"Build", "binary-B", "bin/pinion", below(75e6), source{}},
	{"Build", "unchanged-sec", "make build, nothing changed", below(5), source{}},
	{"Build/cold", "sec/op", "make build, cold", below(8 * 60), source{}},

	{"Servers/idle", "wire-B/min", "three idle servers, one minute on the wire", below(500e3), source{}},
	{"Servers/idle", "leader-wakeups/s", "the same, wake-ups of the leader's threads", below(250), own("follower-wakeups/s")},
	{"Agent/idle", "agent-B", "idle memory of an agent: pinion (VmRSS)", below(45e6), own("leader-B")},
	{"Agent/idle", "wire-B/min", "idle agent, one minute on the wire", below(20e3), source{}},
	{"Pool/reply/at=leader", "p50-sec", "RunTask reply, 3 servers, one client at the leader, p50", below(0.003), own("raft-p50-sec")},
	{"Pool/reply/at=agent", "p50-sec", "RunTask reply, 3 servers, one client at an agent, p50", below(0.003), own("raft-p50-sec")},
	{"Host/metadata", "p50-sec", "a container asks the task metadata endpoint -> answered, p50", target{}, own("bare-p50-sec")},
	{"Host/metadata", "p99-sec", "the same, p99", below(0.002), own("bare-p99-sec")},
	{"Pool/key-press", "p50-sec", "pinion exec -it: a key is pressed -> echoed by the terminal, over two hosts, p50", target{}, own("one-host-p50-sec")},
	{"Pool/key-press", "p99-sec", "the same, p99", below(0.005), own("one-host-p99-sec")},
	{"Pool/leader-killed", "p50-sec", "kill -9 of the leader -> next accepted RunTask, p50", below(1.5), source{}},
	{"Pool/leader-killed", "p99-sec", "kill -9 of the leader -> next accepted RunTask, p99", below(4), source{}},
	{"HostLoss/cut", "p99-sec", "a host is cut off -> lost on the API, p99", below(5), own("p50-sec")},
	{"HostLoss/cut-and-leader-killed", "p99-sec", "a host is cut off while the leader is killed -> lost on the API, p99", below(5), own("p50-sec")},

	{"Fleet/idle", "leader-CPU-%", "idle, simulated hosts: the leader's CPU, of one core", below(15), own("follower-CPU-%")},
	{"Fleet/idle", "leader-B", "idle, simulated hosts: the leader's memory (VmRSS)", below(150e6), source{}},
	{"Fleet/idle", "wire-B/min", "idle, simulated hosts: one minute of one host on the wire", below(20e3), source{}},
	{"Fleet/scrape", "p50-sec", "/metrics/pool of the simulated hosts, 8 GPUs each, p50: 0.5 ms a host", times(0.0005, own("hosts"), 0), own("host-p50-sec")},
	{"Fleet/scrape", "B", "the same: its bytes, 20 kB a host", times(20e3, own("hosts"), 0), source{}},
	{"Fleet/top", "p50-sec", "pinion top of the simulated hosts, 8 GPUs each, its whole process, p50: 2 ms a host", times(0.002, own("hosts"), 0), own("version-p50-sec")},
	{"HostLoss/fleet", "p99-sec", "a simulated host falls silent -> lost on the API, p99", below(5), own("p50-sec")},
	{"HostLoss/fleet-and-leader-killed", "p99-sec", "a simulated host falls silent while the leader is killed -> lost on the API, p99", below(5), own("p50-sec")},
	{"HostLoss/fleet-and-leader-killed", "wrongly-lost", "... shown as lost meanwhile and were not, at most", exactly(below(0)), own("hosts")},

	{"Traces/published", "equal-cells", "published cells at 100 and 130 % that are equal to two decimals", exactly(target{kind: atLeast, of: own("cells"), factor: 1, plus: -5}), own("cells")},
	{"Traces/published", "exact-FGD-runs", "runs of FGD that are exact", exactly(target{kind: atLeast, of: own("FGD-runs"), factor: 1}), own("FGD-runs")},
	{"Traces/published", "random-off-points", "random: mean allocated at 130 % against the published, worst trace, in points", exactly(below(0.3)), source{}},
	{"Traces/cpu200", "unallocated-%", "GPUs unallocated at 130 %, cpu200", exactly(times(1, own("FGD-%"), 0.1)), own("FGD-%")},
	{"Traces/default", "unallocated-%", "GPUs unallocated at 130 %, default", exactly(times(1, own("FGD-%"), 0.1)), own("FGD-%")},
	{"Traces/gpushare40", "unallocated-%", "GPUs unallocated at 130 %, gpushare40", exactly(times(1, own("FGD-%"), 0.1)), own("FGD-%")},
	{"Traces/gpuspec33", "unallocated-%", "GPUs unallocated at 130 %, gpuspec33", exactly(times(1, own("FGD-%"), 0.1)), own("FGD-%")},
	{"Traces/multigpu50", "unallocated-%", "GPUs unallocated at 130 %, multigpu50", exactly(times(1, own("FGD-%"), 0.1)), own("FGD-%")},
	{"Traces/mean", "unallocated-%", "GPUs unallocated at 130 %, mean of the traces", exactly(times(0.92, own("FGD-%"), 0)), own("FGD-%")},
	{"Traces/published", "slowest-sec", "replay of one trace and seed, default, slowest of the traces", below(1), source{}},
	{"Traces/published", "sec/op", "replay of all runs", below(600), own("runs")},

	{"Events", "lost", "events: 200 followers at 1000 changes a second, lost", exactly(below(0)), own("changes/s")},
	{"Events", "p99-sec", "events: 200 followers at 1000 changes a second, p99", below(0.25), own("p50-sec")},
	{"Events", "B/event", "events: bytes of one", target{}, source{}},

	{"Fleet/10000_hosts,_1_GPUs_a_task", "placements/s", "planner alone, one core, 10000 hosts", above(50_000), source{}},
	{"RunTask/hosts=1000", "placements/s", "durable placements a second, 1000 hosts", target{}, source{"BareRaft/1_KiB", "entries/s"}},
	{"RunTask/hosts=5000", "placements/s", "durable placements a second, 5000 hosts", above(10_000), source{"BareRaft/64_KiB", "KiB/s"}},
	{"RunTask/hosts=5000", "CPU-sec/placement", "the same: CPU of servers and clients for each", target{}, source{}},
	{"RunTask/hosts=5000", "reply-p99-sec", "reply at 4000 placements a second, p99", below(0.15), own("reply-p50-sec")},
	{"RunTask/hosts=5000,CPUs=busy", "reply-p99-sec", "the same while tasks keep every CPU busy, p99", below(0.15), own("reply-p50-sec")},
	{"RunTask/hosts=10000", "placements/s", "durable placements a second, 10000 hosts", target{kind: atLeast, of: source{"RunTask/hosts=1000", "placements/s"}, factor: 0.5}, source{"RunTask/hosts=1000", "placements/s"}},
	{"StarvedRunTask", "leader-changes", "changes of the leader while 5000 hosts are filled, disks hang and CPUs are shared", exactly(below(0)), source{}},
	{"StarvedRunTask", "placements/s", "durable placements a second meanwhile", target{}, source{"RunTask/hosts=5000", "placements/s"}},

	{"Queue/drain", "placements/s", "durable placements a second, draining 100,000 waiting tasks", above(30_000), source{"BareRaft/64_KiB", "KiB/s"}},
	{"Queue/freed-GPU", "p99-sec", "freed GPU to the next placement, 100,000 wait, p99", below(0.1), own("p50-sec")},

	{"RunningTasks", "heap-B/task", "state: heap for each of 1,000,000 running tasks", below(1500), own("snapshot-B/task")},
	{"RunningTasks", "write-sec", "state: snapshot of them and their 125,000 hosts", below(10), source{}},
	{"RunningTasks", "longest-apply-sec", "state: longest apply meanwhile", below(0.05), source{}},
	{"RunningTasks", "restore-sec", "state: restored from it", below(10), source{}},

	{"History", "file-B", "history: 1,000,000 tasks of 30 days on disk", exactly(below(300e6)), own("file-B/task")},
	{"History", "heap-growth-B", "history: growth of the live heap by them", below(16e6), source{}},
	{"History", "hour-p99-sec", "history: the tasks of the last hour, p99", below(0.1), own("bare-scan-sec")},
	{"History", "two-days-failed-of-a-team-p99-sec", "history: those of a team that failed within two days, p99", target{}, own("bare-scan-sec")},
	{"History", "usage-slowest-sec", "history: usage of 30 days by team, slowest", below(1), own("bare-scan-sec")},
	{"History", "longest-write-of-2000-sec", "history: longest write of 2000 tasks", below(5), source{}},

	{"Services", "CPU-%", "1000 services with 10,000 tasks at rest: CPU of three servers, of one core", below(3), own("hosts-CPU-%")},
	{"Services", "reconciled-sec", "the leader leaves and a task of each is stopped -> each has another one", below(2), source{}},
	{"Routing", "p99-sec", "an endpoint changes -> the proxies of 100 hosts know, p99", below(0.5), own("p50-sec")},
	{"Proxy/clients=1", "added-p50-sec", "proxy: added to a request, one client, p50", times(1.5, own("haproxy-added-p50-sec"), 0), own("haproxy-added-p50-sec")},
	{"Proxy/clients=1", "added-p99-sec", "the same, p99", target{}, own("haproxy-added-p99-sec")},
	{"Proxy/clients=1", "nginx-added-p50-sec", "the same by nginx, p50", target{}, own("haproxy-added-p50-sec")},
	{"Proxy/clients=1", "nginx-added-p99-sec", "the same by nginx, p99", target{}, own("haproxy-added-p99-sec")},
	{"Proxy/clients=1", "requests/CPU/s", "proxy: requests of one processor, one client", target{kind: atLeast, of: own("haproxy-requests/CPU/s"), factor: 0.5}, own("haproxy-requests/CPU/s")},
	{"Proxy/clients=50", "added-p50-sec", "proxy: added to a request, 50 clients, p50", times(1.5, own("haproxy-added-p50-sec"), 0), own("haproxy-added-p50-sec")},
	{"Proxy/clients=50", "requests/CPU/s", "proxy: requests of one processor, 50 clients", target{kind: atLeast, of: own("haproxy-requests/CPU/s"), factor: 0.5}, own("haproxy-requests/CPU/s")},
	{"Proxy/clients=50", "nginx-requests/CPU/s", "the same by nginx", target{}, source{}},
	{"Proxy/clients=50,rate=2000", "added-p50-sec", "proxy: added to a request, 50 clients with 2000 requests a second, p50", times(1.5, own("haproxy-added-p50-sec"), 0), own("haproxy-added-p50-sec")},
	{"Proxy/clients=50,rate=2000", "added-p99-sec", "the same, p99", target{}, own("haproxy-added-p99-sec")},
	{"Proxy/clients=50,rate=2000", "requests/CPU/s", "proxy: requests of one processor meanwhile", target{}, own("haproxy-requests/CPU/s")},
	{"Proxy/stream", "added-p99-sec", "proxy: added to the first byte of a stream, p99", below(0.001), own("haproxy-added-p99-sec")},

	{"LinkScores", "worst-score-ratio", "score of the chosen GPUs, ours / go-gpuallocator's, worst case", exactly(above(1)), own("cases")},
	{"LinkScores", "worst-rest-ratio", "where that is equal: score of the GPUs left free, worst case", target{}, own("equal-cases")},
	{"Pick4Of16", "worst-score-ratio", "score of 4 of 16 GPUs, all free, ours / go-gpuallocator's, worst case", exactly(above(1)), source{}},
	{"Pick4Of16", "sec/op", "choosing 4 of 16 GPUs from the inventory", times(0.01, own("go-gpuallocator-sec"), 0), own("go-gpuallocator-sec")},
	{"Pick4Of16", "cached-sec", "the same, on a topology that was asked before", target{}, own("go-gpuallocator-sec")},
}
