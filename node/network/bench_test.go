package network

import (
	"context"
	"testing"

	"pinion/node/network/networktest"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func BenchmarkAttach(b *testing.B) {
	bridge, err := Open(networktest.Plugins(b), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for name, attach := range map[string]func(id string) error{
		"new": func(id string) error {
			if err := bridge.ensure(); err != nil {
				return err
			}
			_, err := bridge.createAttachment(context.Background(), id, runtime.IDRange{})
			return err
		},
		"spare": func(id string) error {
			_, err := bridge.Attach(context.Background(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: id})
			return err
		},
		"port": func(id string) error {
			_, err := bridge.Attach(context.Background(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: id, Ports: []spec.PortMapping{{ContainerPort: 80, Protocol: "tcp"}}})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := attach("task.bench"); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := bridge.Detach(context.Background(), "task.bench"); err != nil {
					b.Fatal(err)
				}
				bridge.prewarmed.busy.Wait()
				b.StartTimer()
			}
		})
	}
	if err := bridge.Close(); err != nil {
		b.Fatal(err)
	}
}
