package host

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"pinion/api/cli/configfile"
)

// `pinion down` and `pinion leave` end a host with SIGTERM, after which it exits with 0: a unit that restarts it then would
// undo them.
func TestTheUnitDoesNotUndoDown(t *testing.T) {
	unit, err := os.ReadFile("../pinion.service")
	if err != nil {
		t.Fatal(err)
	}
	restart := regexp.MustCompile(`(?m)^Restart=(.*)$`).FindSubmatch(unit)
	if restart == nil || string(restart[1]) != "on-failure" {
		t.Errorf("%q restarts a host that was told to end, or none that failed", restart)
	}
	if start := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit); start == nil || bytes.Contains(start[1], []byte("--config")) {
		t.Errorf("%q: a file that is named has to be there", start)
	}
	if !bytes.Contains(unit, []byte(configfile.Default)) {
		t.Errorf("the unit does not say where options go: %s", configfile.Default)
	}
	dir := newDataDir(t)
	if err := startHost(t, dir)(); err != nil {
		t.Errorf("a host that is told to end counts as failed: %v", err)
	}
}
