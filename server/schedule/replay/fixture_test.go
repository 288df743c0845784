package replay

import "testing"

// trace is one of the published traces with its hosts, see testdata/README.md.
func trace(t testing.TB, name string) Experiment {
	t.Helper()
	s, err := Open("testdata/openb_node_list_gpu_node.csv.gz", "testdata/openb_pod_list_"+name+".csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	s.Inflate = 1.3
	return s
}
