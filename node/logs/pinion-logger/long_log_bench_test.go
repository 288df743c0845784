package main

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pinion/node/logs"
	"pinion/raftfsm/spec"
)

var logBytes = flag.Int("log-bytes", 100<<20, "how much a container writes in BenchmarkLongLog, in `BYTES`")

// BenchmarkLongLog writes lines of 100 bytes through a pipe into a log that may hold them all, as a container's logger does, and reads
// them back, beside a reader of the bare lines.
func BenchmarkLongLog(b *testing.B) {
	store := logs.NewStore(filepath.Join(b.TempDir(), "logs"))
	line := append(bytes.Repeat([]byte("x"), 99), '\n')
	for b.Loop() {
		count := *logBytes / len(line)
		file := newFile(store.Path("t", "c"), 64<<20, *logBytes>>25+2, 0, time.Now)
		in, out, err := os.Pipe()
		must(b, err)
		begin := time.Now()
		go func() {
			for block := bytes.Repeat(line, 500); count > 0; count -= 500 {
				_, _ = out.Write(block[:min(count, 500)*len(line)])
			}
			out.Close()
		}()
		drain(in, "stdout", file)
		file.close()
		b.ReportMetric(float64(*logBytes/len(line))/time.Since(begin).Seconds(), "written-lines/s")
		b.ReportMetric(readBack(b, store), "lines/s")
		b.ReportMetric(readBare(b, file), "bare-lines/s")
	}
	b.ReportMetric(0, "ns/op")
}

// readBack reads the log, in which each line has to be, and returns how many lines a second.
func readBack(b *testing.B, store *logs.Store) float64 {
	begin, lines, text := time.Now(), 0, 0
	must(b, store.Read(b.Context(), spec.LogQuery{Task: "t"}, nil, func(line spec.LogLine) error {
		lines, text = lines+1, text+len(line.Text)
		return nil
	}))
	if want := *logBytes / 100; lines != want || text != want*99 {
		b.Errorf("%d lines with %d bytes of text are read; %d were written", lines, text, want)
	}
	return float64(lines) / time.Since(begin).Seconds()
}

// readBare reads the lines of the files with nothing but a buffer, and reports how much of a line is not text.
func readBare(b *testing.B, file *logFile) float64 {
	begin, lines, size := time.Now(), 0, 0
	for i := range file.maxFiles {
		f, err := os.Open(file.rotated(i))
		if os.IsNotExist(err) {
			break
		}
		must(b, err)
		for in := bufio.NewScanner(f); in.Scan(); lines++ {
			size += len(in.Text()) + 1
		}
		f.Close()
	}
	b.ReportMetric(float64(size)/float64(lines)-100, "own-B/line") // beyond the 100 that were written
	return float64(lines) / time.Since(begin).Seconds()
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
