package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"pinion/packaging/bundle/archive"
	"pinion/packaging/bundle/tool"
)

// pack writes the archive and its digests where package bundle embeds them. The digests come last, so that an
// interrupted run leaves no pair that does not belong together and looks finished.
func pack(all []tool.Tool) error {
	start := time.Now()
	if err := os.RemoveAll(sumsFile); err != nil {
		return err
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	file, err := os.Create(archiveFile)
	if err != nil {
		return err
	}
	defer file.Close()
	sums, err := archive.Pack(file, tool.Dir, names)
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
	return os.WriteFile(sumsFile, []byte(text.String()), 0o644)
}
