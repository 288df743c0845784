package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/vishvananda/netns"
)

const (
	// metadataRequests is the number of requests of one measurement, metadataPace the time between two: an endpoint answers 40 a second.
	metadataRequests = 400
	metadataPace     = 26 * time.Millisecond
	metadataAddress  = "http://169.254.170.2:51679/v4/"
)

// measureMetadata times a request of a container at its task metadata endpoint, in turns with one of the same size at a bare server of net/http, each
// over a connection that stays open: to make one from another network namespace costs the bench a thread, which no container needs.
func measureMetadata(h *host, _ int, r *results) error {
	if err := h.call("RegisterTaskDefinition", object{"family": "metadata", "containerDefinitions": []object{{"name": "c", "image": "pinion/self", "memory": 64, "command": []string{"/pinion", "pause"}}}}, &struct{}{}); err != nil {
		return err
	}
	t, err := h.run("metadata")
	if err != nil {
		return err
	}
	defer func() { _ = h.stop(t) }() // the host is taken down
	if t, err = h.wait(t, "RUNNING"); err != nil {
		return err
	}
	client, url, text, err := metadataClient(h.dir, t.id())
	if err != nil {
		return err
	}
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	defer bare.Close()
	ours, theirs := []time.Duration{}, []time.Duration{}
	pace := time.NewTicker(metadataPace)
	defer pace.Stop()
	for range metadataRequests {
		<-pace.C
		for to, samples := range map[string]*[]time.Duration{url: &ours, bare.URL: &theirs} {
			began := time.Now()
			if _, err := fetch(client[to == url], to); err != nil {
				return err
			}
			*samples = append(*samples, time.Since(began))
		}
	}
	return r.add("Host/metadata", metadataRequests, append(percentiles("", ours), percentiles("bare-", theirs)...)...)
}

// metadataClient are clients in the network namespace of the task (true) and in this one, with the address of the document of its task, and that.
func metadataClient(dir, task string) (clients map[bool]*http.Client, url string, text []byte, err error) {
	ids, err := filepath.Glob(filepath.Join(dir, "tasks", task, "containers", "*", "metadata-id"))
	if err != nil || len(ids) != 1 {
		return nil, "", nil, fmt.Errorf("the id of the endpoint: %v, %w", ids, err)
	}
	id, err := os.ReadFile(ids[0])
	if err != nil {
		return nil, "", nil, err
	}
	url = metadataAddress + string(id) + "/task"
	namespaces, err := filepath.Glob(filepath.Join(dir, "network", "netns", "*"))
	for _, path := range namespaces { // some are kept ready for others
		c := clientIn(path)
		if text, err = fetch(c, url); err == nil {
			return map[bool]*http.Client{true: c, false: clientIn("")}, url, text, nil
		}
	}
	return nil, "", nil, fmt.Errorf("no network namespace of %s answers: %w", dir, err)
}

// clientIn is a client that makes its connections in a network namespace.
func clientIn(path string) *http.Client {
	dial := func(ctx context.Context, network, to string) (conn net.Conn, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if path != "" {
				runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
				handle, failed := netns.GetFromPath(path)
				if failed == nil {
					failed = errors.Join(netns.Set(handle), handle.Close())
				}
				if err = failed; err != nil {
					return
				}
			}
			conn, err = (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, to)
		}()
		<-done
		return conn, err
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

func fetch(c *http.Client, url string) ([]byte, error) {
	answer, err := c.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return text, err
}
