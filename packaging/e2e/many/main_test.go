package many

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pinion/packaging/testbed"
)

// testbedPrefix begins the names of the directories of testbeds. It is short because the paths of unix sockets are.
const testbedPrefix = "pinion-many-"

// TestMain removes the testbeds of killed runs first, and ends with the table of metrics.
func TestMain(m *testing.M) {
	flag.Parse()
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), testbedPrefix+"*"))
	for _, dir := range left {
		b, err := testbed.Open(dir)
		switch {
		case errors.Is(err, testbed.ErrBusy), errors.Is(err, testbed.ErrNone):
			continue // another run's
		case err == nil:
			err = b.Down(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "leftovers of an earlier run:", err)
		}
	}
	code := m.Run()
	printMetrics()
	os.Exit(code)
}
