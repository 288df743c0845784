package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"pinion/packaging/atomicfile"
)

// containerdFile names the containerd of the machine that runs this directory's tasks. It is absent while Pinion's own does.
const containerdFile = "containerd.address"

// Containerd is the machine's containerd that this directory's tasks run on; empty when it is Pinion's own.
func (d *Dir) Containerd() (string, error) {
	raw, err := os.ReadFile(d.Join(containerdFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(raw)), err
}

// SetContainerd remembers the containerd that the tasks run on; empty is Pinion's own. Once there may be tasks it cannot
// change, because those on the other one would be lost from sight.
func (d *Dir) SetContainerd(address string) error {
	before, err := d.Containerd()
	if err != nil {
		return err
	}
	_, err = os.Stat(d.Join("raft")) // made at the end of the first start
	if before != address && err == nil {
		return fmt.Errorf("the tasks of %s run on %s, not on %s; start it as before, or end them with `pinion down` and remove %s", d.Path, containerdName(before), containerdName(address), d.Join(containerdFile))
	}
	if before == address {
		return nil
	}
	return atomicfile.Write(d.Join(containerdFile), []byte(address+"\n"), 0o600)
}

func containerdName(address string) string {
	if address == "" {
		return "Pinion's own containerd"
	}
	return "the containerd at " + address
}
