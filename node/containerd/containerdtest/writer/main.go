// Command writer writes numbered lines to its standard output, as fast as it is told, and measures each write: what a container notices of
// its log.
//
//	writer RESULT MEGABYTES-PER-SECOND DURATION GO-ON
//
// Then it says in RESULT what it noticed, waits for the file GO-ON, and writes one more line.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"time"
)

// result is the writer's report: its writes, and how long they took.
type result struct {
	Lines         int // written
	MBps          float64
	P50, P99, Max time.Duration // of single writes
}

const (
	chunk      = 32 << 10
	lineLength = 128
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: writer RESULT MEGABYTES-PER-SECOND DURATION GO-ON")
	}
	rate, err := strconv.ParseFloat(os.Args[2], 64)
	if err != nil {
		log.Fatal(err)
	}
	duration, err := time.ParseDuration(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	r, err := write(rate*1e6, duration)
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], text, 0o644); err != nil {
		log.Fatal(err)
	}
	for {
		if _, err := os.Stat(os.Args[4]); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println(r.Lines, "the end")
}

// write writes so many bytes a second for so long.
func write(rate float64, duration time.Duration) (r result, err error) {
	var took []time.Duration
	var text bytes.Buffer
	written, began := 0, time.Now()
	for time.Since(began) < duration {
		if ahead := time.Duration(float64(written)/rate*float64(time.Second)) - time.Since(began); ahead > time.Millisecond {
			time.Sleep(ahead)
		}
		text.Reset()
		for text.Len() < chunk {
			begin := text.Len()
			fmt.Fprintf(&text, "%d ", r.Lines)
			text.Write(bytes.Repeat([]byte{'x'}, lineLength-1-(text.Len()-begin)))
			text.WriteByte('\n')
			r.Lines++
		}
		at := time.Now()
		if _, err := os.Stdout.Write(text.Bytes()); err != nil {
			return r, err
		}
		took = append(took, time.Since(at))
		written += text.Len()
	}
	r.MBps = float64(written) / 1e6 / time.Since(began).Seconds()
	slices.Sort(took)
	r.P50, r.P99, r.Max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return r, nil
}
