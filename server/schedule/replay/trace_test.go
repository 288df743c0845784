package replay

import (
	"slices"
	"strings"
	"testing"

	"pinion/server/schedule/pack"
)

func TestTasksAreReadByTheNamesOfTheirColumns(t *testing.T) {
	got, err := ReadTasks(strings.NewReader(
		"qos,name,gpu_spec,gpu_milli,num_gpu,memory_mib,cpu_milli\n" +
			"LS,a,V100M16|T4,460,1,1024,8000\n" +
			"BE,b,,0,0,512,500\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Task{
		{"a", pack.Shape{CPU: 8000, MemoryMiB: 1024, GPUs: 1, Milli: 460, Models: "V100M16|T4"}},
		{"b", pack.Shape{CPU: 500, MemoryMiB: 512}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWhatIsWrongWithAListIsSaidWithItsLine(t *testing.T) {
	const header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
	for name, c := range map[string]struct{ list, want string }{
		"nothing in it":          {"", "the file is empty"},
		"a column is missing":    {"name,cpu_milli,memory_mib,num_gpu\na,1,1,1\n", "line 1: there is no column gpu_milli"},
		"not a number":           {header + "a,1,1,1,1000\nb,many,1,1,1000\n", `line 3: cpu_milli is "many"`},
		"below zero":             {header + "a,-1,1,1,1000\n", `line 2: cpu_milli is "-1"`},
		"a share above a GPU":    {header + "a,1,1,1,1001\n", `line 2: gpu_milli is "1001"`},
		"shares of several GPUs": {header + "a,1,1,2,500\n", "line 2: gpu_milli is 500: more than one GPU"},
		"no GPU but a share":     {header + "a,1,1,0,500\n", "line 2: num_gpu is 0 and gpu_milli 500"},
		"a field too many":       {header + "a,1,1,0,0,9\n", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTasks(strings.NewReader(c.list))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
