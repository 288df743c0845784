package sim

// model is a GPU model and the machine that usually carries it.
type model struct {
	key       string  // as in "8xh100"
	name      string  // marketing name, as NVML reports it
	memoryMiB int64   // 0: unified memory, which NVML does not report
	compute   string  // compute capability
	watts     float64 // at most
	lanes     int     // NVLink lanes between each pair of GPUs; 0 without NVLink
	driver    string
	cuda      string
	slots     []slot // GPU slots of the machine in NVML's enumeration order
}

// slot is the position of a GPU. Slots with equal numbers share the host bridge, the PCIe switch below it, or the last
// switch before the GPU; the two switches are the same where there is only one.
type slot struct {
	pci    string
	numa   int
	bridge int
	upper  int
	swtch  int
}

const (
	driver580 = "580.159.03"
	cuda130   = "13.0"
	driver470 = "470.256.02" // the last driver branch that supports Kepler
	cuda114   = "11.4"
)

// models lists the models that `--gpus sim:` accepts.
var models = []model{
	{"a100", "NVIDIA A100-SXM4-80GB", 81920, "8.0", 400, 12, driver580, cuda130, dgxA100},
	{"h100", "NVIDIA H100 80GB HBM3", 81559, "9.0", 700, 18, driver580, cuda130, hgx},
	{"h200", "NVIDIA H200", 143771, "9.0", 700, 18, driver580, cuda130, hgx},
	{"b200", "NVIDIA B200", 183359, "10.0", 1000, 18, driver580, cuda130, hgx},
	{"l40s", "NVIDIA L40S", 46068, "8.9", 350, 0, driver580, cuda130, switched},
	{"t4", "Tesla T4", 15360, "7.5", 70, 0, driver580, cuda130, twoSockets},
	{"k80", "Tesla K80", 11441, "3.7", 150, 0, driver470, cuda114, dualBoards},
	{"gb10", "NVIDIA GB10", 0, "12.1", 140, 0, driver580, cuda130, spark},
}

// hgx is a baseboard with eight SXM modules behind NVSwitch, four to a socket, each with its own PCIe switch.
var hgx = []slot{
	{"00000000:1B:00.0", 0, 0, 0, 0},
	{"00000000:43:00.0", 0, 1, 1, 1},
	{"00000000:52:00.0", 0, 2, 2, 2},
	{"00000000:61:00.0", 0, 3, 3, 3},
	{"00000000:9D:00.0", 1, 4, 4, 4},
	{"00000000:C3:00.0", 1, 5, 5, 5},
	{"00000000:D1:00.0", 1, 6, 6, 6},
	{"00000000:DF:00.0", 1, 7, 7, 7},
}

// dgxA100 has two modules to a PCIe switch and two EPYC sockets with four NUMA nodes each.
var dgxA100 = []slot{
	{"00000000:07:00.0", 3, 0, 0, 0},
	{"00000000:0F:00.0", 3, 0, 0, 0},
	{"00000000:47:00.0", 1, 1, 1, 1},
	{"00000000:4E:00.0", 1, 1, 1, 1},
	{"00000000:87:00.0", 7, 2, 2, 2},
	{"00000000:90:00.0", 7, 2, 2, 2},
	{"00000000:B7:00.0", 5, 3, 3, 3},
	{"00000000:BD:00.0", 5, 3, 3, 3},
}

// switched is a PCIe server with pairs of cards behind PCIe switches, two pairs to a socket.
var switched = []slot{
	{"00000000:38:00.0", 0, 0, 0, 0},
	{"00000000:3B:00.0", 0, 0, 0, 0},
	{"00000000:5A:00.0", 0, 1, 1, 1},
	{"00000000:5D:00.0", 0, 1, 1, 1},
	{"00000000:98:00.0", 1, 2, 2, 2},
	{"00000000:9B:00.0", 1, 2, 2, 2},
	{"00000000:BA:00.0", 1, 3, 3, 3},
	{"00000000:BD:00.0", 1, 3, 3, 3},
}

// twoSockets is a PCIe server with a root port for each card, four to a socket.
var twoSockets = []slot{
	{"00000000:18:00.0", 0, 0, 0, 0},
	{"00000000:3B:00.0", 0, 1, 1, 1},
	{"00000000:5E:00.0", 0, 2, 2, 2},
	{"00000000:6B:00.0", 0, 3, 3, 3},
	{"00000000:86:00.0", 1, 4, 4, 4},
	{"00000000:AF:00.0", 1, 5, 5, 5},
	{"00000000:D8:00.0", 1, 6, 6, 6},
	{"00000000:E1:00.0", 1, 7, 7, 7},
}

// dualBoards is a server with eight boards of two GPUs: a PCIe switch on each board, a switch of the server above each two
// boards, and two of the server's switches to a socket.
var dualBoards = []slot{
	{"00000000:05:00.0", 0, 0, 0, 0},
	{"00000000:06:00.0", 0, 0, 0, 0},
	{"00000000:09:00.0", 0, 0, 0, 1},
	{"00000000:0A:00.0", 0, 0, 0, 1},
	{"00000000:0D:00.0", 0, 0, 1, 2},
	{"00000000:0E:00.0", 0, 0, 1, 2},
	{"00000000:11:00.0", 0, 0, 1, 3},
	{"00000000:12:00.0", 0, 0, 1, 3},
	{"00000000:85:00.0", 1, 1, 2, 4},
	{"00000000:86:00.0", 1, 1, 2, 4},
	{"00000000:89:00.0", 1, 1, 2, 5},
	{"00000000:8A:00.0", 1, 1, 2, 5},
	{"00000000:8D:00.0", 1, 1, 3, 6},
	{"00000000:8E:00.0", 1, 1, 3, 6},
	{"00000000:91:00.0", 1, 1, 3, 7},
	{"00000000:92:00.0", 1, 1, 3, 7},
}

// spark is a desktop with one GPU beside the CPU.
var spark = []slot{{"0000000F:01:00.0", 0, 0, 0, 0}}
