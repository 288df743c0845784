package nvml

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// TestMain lets the test program stand in for pinion-nvml when it is called as `standin BEHAVIOUR`.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "standin" {
		standIn(os.Args[2])
	}
	os.Exit(m.Run())
}

// twoGPUs is the inventory of a healthy stand-in.
var twoGPUs = gpu.Inventory{Driver: "580.95.05", CUDA: "13.0", Devices: []gpu.Device{
	{UUID: "GPU-a", Index: 0, Health: gpu.Healthy}, {UUID: "GPU-b", Index: 1, Health: gpu.Healthy},
}}

func healthy(r protocol.Request) protocol.Message {
	switch r.Kind {
	case protocol.CDI:
		return protocol.Message{ID: r.ID, CDI: &protocol.Spec{Kind: "nvidia.com/gpu", JSON: json.RawMessage(`{"cdiVersion":"0.6.0"}`)}}
	case protocol.Processes:
		return protocol.Message{ID: r.ID, Processes: []int{7, 8}}
	}
	if r.Kind == protocol.Usage {
		busy := 42.5
		return protocol.Message{ID: r.ID, Usage: []gpu.Usage{{UUID: "GPU-a", Utilization: &busy}}}
	}
	return protocol.Message{ID: r.ID, Inventory: &twoGPUs}
}

// standIn is a real process that answers, or does one of the things that a driver makes a process do.
func standIn(behaviour string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var r protocol.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		switch {
		case behaviour == "lacks a symbol" && r.Kind == protocol.CDI:
			fmt.Fprintln(os.Stderr, "pinion-nvml: symbol lookup error: undefined symbol: nvmlDeviceGetMemoryInfo_v2")
			os.Exit(127)
		case behaviour == "hangs":
			select {}
		case behaviour == "babbles":
			fmt.Println("WARNING: the driver is tainted")
		}
		json.NewEncoder(os.Stdout).Encode(healthy(r))
	}
	os.Exit(0)
}

// actor is a helper played inside the test, so that the test's clock holds for it too.
type actor struct {
	mu        sync.Mutex
	starts    int
	onRequest func(r protocol.Request, a *actor) // what it does with a request

	messages *io.PipeWriter
	stderr   *io.PipeWriter
	exit     chan error
}

func (a *actor) start() (*process, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.starts++
	requests, to := io.Pipe()
	from, messages := io.Pipe()
	words, stderr := io.Pipe()
	a.messages, a.stderr, a.exit = messages, stderr, make(chan error, 1)
	exit := a.exit
	go func() {
		for lines := bufio.NewScanner(requests); lines.Scan(); {
			var r protocol.Request
			json.Unmarshal(lines.Bytes(), &r)
			a.onRequest(r, a)
		}
	}()
	kill := func() { requests.Close(); a.die(errors.New("signal: killed"), "") }
	return &process{to, from, words, kill, func() error { return <-exit }}, nil
}

func (a *actor) send(m protocol.Message) { json.NewEncoder(a.messages).Encode(m) }

// die ends the helper as a crash does, after its last words.
func (a *actor) die(how error, words string) {
	select {
	case a.exit <- how:
	default:
		return // dead already
	}
	if words != "" {
		fmt.Fprintln(a.stderr, words)
	}
	a.messages.Close()
	a.stderr.Close()
}
