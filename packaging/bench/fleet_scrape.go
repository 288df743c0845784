package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

const (
	// scrapeRepeats is the number of scrapes of the pool, each counted anew.
	scrapeRepeats = 10
	// betweenScrapes is longer than what was counted serves further scrapes.
	betweenScrapes = 5500 * time.Millisecond
)

// measureFleetScrape times what Prometheus waits for: the metrics of the pool, which the leader counts, and those of one of its own hosts.
func measureFleetScrape(p *pool, f *fleet, r *results) error {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	socket := filepath.Join(now.leader.Dir, "pinion.sock")
	reader := &http.Client{Timeout: callTimeout, Transport: &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer reader.CloseIdleConnections()
	var pools, hosts []time.Duration
	var bytes int
	for range scrapeRepeats {
		if err := p.rest(betweenScrapes); err != nil {
			return err
		}
		took, size, err := scrape(reader, "/metrics/pool")
		if err != nil {
			return err
		}
		pools, bytes = append(pools, took), size
		if took, _, err = scrape(reader, "/metrics"); err != nil {
			return err
		}
		hosts = append(hosts, took)
	}
	return r.add("Fleet/scrape", len(pools), append(percentiles("", pools), took("host-p50", median(hosts)), measured(float64(bytes), "B"), measured(float64(f.size), "hosts"))...)
}

// scrape reads metrics, and tells how long that took and how many bytes they have.
func scrape(reader *http.Client, path string) (took time.Duration, size int, err error) {
	begin := time.Now()
	response, err := reader.Get("http://pinion" + path)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", path, response.StatusCode, text)
	}
	return time.Since(begin), len(text), err
}
