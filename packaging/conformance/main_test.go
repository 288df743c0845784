package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/packaging/testbed"
)

// testbedPrefix begins the names of the directories of pools. It is short because the paths of unix sockets are.
const testbedPrefix = "pinion-conform-"

// clients are those that the last line counts.
var clients = []string{"AWS CLI", "boto3", "AWS SDK for Go v2", "Terraform"}

var passedClients struct {
	sync.Mutex
	versions map[string][]string // by client
}

// recordPassed notes that a client has gone through its part and passed.
func recordPassed(t *testing.T, client, version string) {
	if t.Failed() {
		return
	}
	passedClients.Lock()
	defer passedClients.Unlock()
	if passedClients.versions == nil {
		passedClients.versions = map[string][]string{}
	}
	passedClients.versions[client] = append(passedClients.versions[client], version)
}

// TestMain removes the testbeds of killed runs first, and ends with the clients that passed.
func TestMain(m *testing.M) {
	flag.Parse()
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), testbedPrefix+"*"))
	for _, dir := range left {
		b, err := testbed.Open(dir)
		if err == nil {
			err = b.Down(context.Background())
		}
		if err != nil && !errors.Is(err, testbed.ErrBusy) && !errors.Is(err, testbed.ErrNone) {
			fmt.Fprintln(os.Stderr, "leftovers of an earlier run:", err)
		}
	}
	code := m.Run()
	var passed []string
	for _, name := range clients {
		if versions := passedClients.versions[name]; len(versions) > 0 {
			slices.Sort(versions)
			passed = append(passed, name+" "+strings.Join(versions, " and "))
		}
	}
	fmt.Printf("clients: %d of %d passed: %s\n", len(passed), len(clients), strings.Join(passed, ", "))
	os.Exit(code)
}
