package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"pinion/api/client"
)

// A client of the host on this machine lists the GPUs that a new task can get, and runs one on such a GPU.
func Example() {
	socket, stop := serveExampleHost()
	defer stop()

	ctx := context.Background()
	host, err := client.New(client.Config{Socket: socket}) // of a real host: /var/lib/pinion/pinion.sock
	if err != nil {
		log.Fatal(err)
	}
	gpus, err := host.GPUs(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, gpu := range gpus {
		if gpu.Free() {
			fmt.Println("free:", gpu.Model, "on", gpu.Host)
		}
	}
	var output struct {
		Tasks []client.Task `json:"tasks"`
	}
	if err := host.Call(ctx, "RunTask", map[string]any{"taskDefinition": "train"}, &output); err != nil {
		log.Fatal(err)
	}
	fmt.Println("started:", output.Tasks[0].ID(), "on", output.Tasks[0].GPUs())
	// Output:
	// free: NVIDIA H100 80GB HBM3 on gpu-1
	// started: 3f2a91c0 on [GPU-1]
}

// serveExampleHost answers the requests of the example.
func serveExampleHost() (socket string, stop func()) {
	dir, err := os.MkdirTemp("", "pinion-example")
	if err != nil {
		log.Fatal(err)
	}
	socket = filepath.Join(dir, "pinion.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /v1/gpus", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `[{"host":"gpu-1","uuid":"GPU-0","model":"NVIDIA H100 80GB HBM3","health":"HEALTHY","task":"91bc04de"},
			{"host":"gpu-1","uuid":"GPU-1","model":"NVIDIA H100 80GB HBM3","health":"HEALTHY"}]`)
	})
	routes.HandleFunc("POST /v1/RunTask", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"tasks":[{"taskArn":"arn:aws:ecs:us-east-1:123456789012:task/default/3f2a91c0","containers":[{"gpuIds":["GPU-1"]}]}]}`)
	})
	server := &http.Server{Handler: routes}
	go server.Serve(listener)
	return socket, func() { server.Close(); os.RemoveAll(dir) }
}
