package blob_test

import (
	"strings"
	"testing"

	"pinion/raftfsm/blob"
)

func TestNamesOfImages(t *testing.T) {
	for name, want := range map[string]string{
		"vllm":                                   "docker.io/library/vllm:latest",
		"team/vllm:2":                            "docker.io/team/vllm:2",
		"registry.lab:5000/a/b:c":                "registry.lab:5000/a/b:c",
		"vllm@sha256:" + strings.Repeat("0", 64): "", // means itself
		"pinion/self":                            "", // of each host's own binary
		"docker.io/pinion/self":                  "",
		"../etc/passwd":                          "",
		"Upper":                                  "",
		"":                                       "",
	} {
		if got, err := blob.NormalizeName(name); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}
