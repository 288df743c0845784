package sim

import (
	"strings"
	"testing"
)

// twoH100 is the environment of a container with the GPUs of minor 3 and 10. The image tells of a further one, whose node
// is not there, and of nonsense.
var twoH100 = smi{
	environ: []string{
		"PINION_SIM_DRIVER=580.159.03",
		"PINION_SIM_CUDA=13.0",
		"PINION_SIM_GPU_10=GPU-b,81559,NVIDIA H100 80GB HBM3",
		"PINION_SIM_GPU_3=GPU-a,81559,NVIDIA H100 80GB HBM3",
		"PINION_SIM_GPU_4=GPU-c,81559,NVIDIA H100 80GB HBM3",
		"PINION_SIM_GPU_=GPU-x",
		"PINION_SIM_GPU_y=GPU-x,1,z",
		"PINION_SIM_GPU_3x=GPU-x,much,z",
	},
	present: func(minor int) bool { return minor == 3 || minor == 10 },
}

var unified = smi{
	environ: []string{"PINION_SIM_GPU_0=GPU-a,0,NVIDIA GB10"},
	present: func(int) bool { return true },
}

var bare = smi{present: func(int) bool { return true }}

func TestTheSimulatedTool(t *testing.T) {
	for intention, c := range map[string]struct {
		container smi
		args      string
		code      int
		want      string
	}{
		"list, numbered from 0": {twoH100, "-L", 0,
			"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-b)\n"},
		"query": {twoH100, "--query-gpu=index,uuid,name,memory.total --format=csv", 0,
			"index, uuid, name, memory.total [MiB]\n0, GPU-a, NVIDIA H100 80GB HBM3, 81559 MiB\n1, GPU-b, NVIDIA H100 80GB HBM3, 81559 MiB\n"},
		"query without header": {twoH100, "--query-gpu=uuid,driver_version --format=csv,noheader", 0,
			"GPU-a, 580.159.03\nGPU-b, 580.159.03\n"},
		"query without units": {twoH100, "--format=csv,nounits --query-gpu=memory.total", 0,
			"memory.total\n81559\n81559\n"},
		"memory of a unified device": {unified, "--query-gpu=memory.total --format=csv,noheader", 0, "[N/A]\n"},
		"table": {twoH100, "", 0, `SIMULATED by Pinion: these GPUs are not there and compute nothing
Driver Version: 580.159.03   CUDA Version: 13.0

GPU  Name                   Memory     UUID
0    NVIDIA H100 80GB HBM3  81559 MiB  GPU-a
1    NVIDIA H100 80GB HBM3  81559 MiB  GPU-b
`},
		"no GPU":             {bare, "", 6, "No devices were found\n"},
		"no GPU to list":     {bare, "-L", 6, "No devices were found\n"},
		"an unknown field":   {twoH100, "--query-gpu=mood --format=csv", 2, "field \"mood\" is not a valid field to query; valid are index uuid name memory.total driver_version\n"},
		"a query, no format": {twoH100, "--query-gpu=uuid", 2, "a query takes both --query-gpu= and --format=csv\n"},
		"a format, no query": {twoH100, "--format=csv", 2, "a query takes both --query-gpu= and --format=csv\n"},
		"an unknown flag":    {twoH100, "dmon", 2, "the simulated nvidia-smi does not know dmon; nvidia-smi -h says what it knows\n"},
	} {
		t.Run(intention, func(t *testing.T) {
			var out strings.Builder
			if code := c.container.run(strings.Fields(c.args), &out); code != c.code || out.String() != c.want {
				t.Errorf("exit code %d, want %d; got\n%s\nwant\n%s", code, c.code, out.String(), c.want)
			}
		})
	}
}

func TestTheTableBeginsBySayingSimulated(t *testing.T) {
	var out strings.Builder
	twoH100.run(nil, &out)
	if first, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(first, "SIMULATED") {
		t.Errorf("the first line is %q", first)
	}
}

func TestOutsideAContainerThereAreNoSimulatedGPUs(t *testing.T) {
	var out strings.Builder
	if code := SMI([]string{"-L"}, &out); code != exitNotFound {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
