// Build makes the tools that travel inside the pinion binary: it compiles each from source at the version that go.mod
// names, leaves them under .build/tools, and packs them where package bundle embeds them. Run it from the root of the
// repository; `make build` does. When nothing has changed it does nothing. With -arch it builds for another processor, see tool.Target.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"pinion/packaging/bundle/tool"
)

func main() {
	arch := flag.String("arch", string(tool.Native), "processor to build for: amd64 or arm64")
	flag.Parse()
	if err := run(tool.Target(*arch)); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(to tool.Target) error {
	if !to.IsKnown() {
		return fmt.Errorf("there is no release for the processor %q: say amd64 or arm64", to)
	}
	if err := checkRepository(); err != nil {
		return err
	}
	stamp, err := buildStamp(to, tool.All)
	if err != nil {
		return err
	}
	if upToDate(to, stamp, tool.All) {
		return nil
	}
	if err := ensureCompiler(to); err != nil {
		return err
	}
	// Go passes over files that need a C compiler while there is none, so the sources are other ones now.
	if stamp, err = buildStamp(to, tool.All); err != nil {
		return err
	}
	// The results of an interrupted build belong to no stamp.
	if err := os.RemoveAll(to.Stamp()); err != nil {
		return err
	}
	start := time.Now()
	for _, t := range tool.All {
		if err := compile(to, t); err != nil {
			return err
		}
	}
	if err := pack(to, tool.All); err != nil {
		return err
	}
	printStep("tools are ready", time.Since(start))
	return os.WriteFile(to.Stamp(), []byte(stamp), 0o644)
}

// checkRepository refuses to run where the sources of our own tools are not.
func checkRepository() error {
	for _, t := range tool.All {
		if _, err := os.Stat(t.Package); t.IsLocal() && err != nil {
			return fmt.Errorf("the source of %s is missing; run this from the root of the repository: %w", t.Name, err)
		}
	}
	return nil
}

// printStep prints a step of the build and its time.
func printStep(what string, took time.Duration) {
	fmt.Printf("bundle: %-70s %6.1f s\n", what, took.Seconds())
}
