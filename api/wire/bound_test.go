package wire

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A text of a few bytes may stand for hundreds of megabytes: elements are counted before anything is made of them.
func TestAnInputOfManyElementsIsRefusedBeforeItIsDecoded(t *testing.T) {
	type container struct {
		Name  string   `json:"name"`
		Large [64]Long `json:"large"`
	}
	for name, c := range map[string]struct {
		body   string
		decode func([]byte, any, Strictness) error
	}{
		"JSON, empty objects": {`{"containers":[` + strings.Repeat("{},", 349_000) + `{}]}`, DecodeJSON},
		"JSON, objects":       {`{"containers":[` + strings.Repeat(`{"":0},`, 149_000) + `{}]}`, DecodeJSON},
		"JSON, deep":          {`{"containers":` + strings.Repeat("[", 1<<20) + "}", DecodeJSON},
		"YAML, flow":          {"containers: [" + strings.Repeat("{},", 349_000) + "{}]", DecodeYAML},
		"YAML, lines":         {"containers:\n" + strings.Repeat("- {}\n", 200_000), DecodeYAML},
		"YAML, nested":        {"containers:\n  " + strings.Repeat("- ", 500_000), DecodeYAML},
	} {
		t.Run(name, func(t *testing.T) {
			var in struct {
				Containers []container `json:"containers"`
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.decode([]byte(c.body), &in, Strict)
			runtime.ReadMemStats(&after)
			if refusal, ok := err.(*Error); !ok || refusal.Type != Serialization {
				t.Errorf("%v", err)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
				t.Errorf("%d MiB were allocated for it", allocated>>20)
			}
		})
	}
}

func TestTextInStringsIsNoElement(t *testing.T) {
	var in struct {
		Text string `json:"text"`
	}
	text := strings.Repeat(`,[{\"`, 100_000)
	if err := DecodeJSON([]byte(`{"text":"`+text+`"}`), &in, Strict); err != nil || len(in.Text) != 400_000 {
		t.Errorf("%d bytes, %v", len(in.Text), err)
	}
}

// What everybody sends at once is parsed by few processors: the others are for what leads the pool.
func TestFewLargeInputsAreParsedAtOnce(t *testing.T) {
	var running, most atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			_ = Bounded(SmallInput+1, func() error {
				now := running.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				bytes.Count(make([]byte, 1<<20), []byte("x"))
				running.Add(-1)
				return nil
			})
		})
	}
	all.Wait()
	if got := most.Load(); got > int64(cap(parsers)) {
		t.Errorf("%d were parsed at once, and %d may be", got, cap(parsers))
	}
}

// The known name nearest to one of a megabyte is not looked for: that is the product of both lengths.
func TestALongNameIsNobodysMistake(t *testing.T) {
	var in struct {
		Family string `json:"family"`
	}
	if got := nearest(strings.Repeat("f", maxMistyped+1), nil); got != "" {
		t.Errorf("%q", got)
	}
	if err := DecodeJSON([]byte(`{"`+strings.Repeat("f", 1<<19)+`":1}`), &in, Strict); err == nil {
		t.Error("it is taken")
	}
}
