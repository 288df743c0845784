package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"pinion/packaging/bundle/archive"
	"pinion/packaging/bundle/tool"
)

// pack writes the archive and its digests where package bundle embeds them, or an overlay finds them. The digests come last, so that an
// interrupted run leaves no pair that does not belong together and looks finished.
func pack(to tool.Target, all []tool.Tool) error {
	start := time.Now()
	if err := os.RemoveAll(to.Sums()); err != nil {
		return err
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	file, err := os.Create(to.Archive())
	if err != nil {
		return err
	}
	defer file.Close()
	sums, err := archive.Pack(file, to.Tools(), names)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	var text strings.Builder
	for _, sum := range sums {
		fmt.Fprintln(&text, sum)
	}
	printStep(fmt.Sprintf("packed %d tools into %.1f MB", len(all), float64(info.Size())/1e6), time.Since(start))
	if err := writeOverlay(to); err != nil {
		return err
	}
	return os.WriteFile(to.Sums(), []byte(text.String()), 0o644)
}

// writeOverlay writes what has `go build` embed the tools of another processor in the place of this machine's.
func writeOverlay(to tool.Target) error {
	if to == tool.Native {
		return nil
	}
	var overlay struct{ Replace map[string]string } // of `go help build`: a path of the sources, and the file that stands for it
	overlay.Replace = map[string]string{}
	for file, embedded := range to.Embedded() {
		overlay.Replace[embedded] = file
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	return os.WriteFile(to.Overlay(), text, 0o644)
}
