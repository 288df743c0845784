package containerd_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pinion/node/containerd/daemon"
)

func TestWhereOverlayDoesNotWorkImagesAreCopiedAndItIsSaid(t *testing.T) {
	h := newHost(t).withBusybox()
	dir := filepath.Join(shortDir(t), "a:b") // a colon separates layers in overlayfs's options
	daemon, err := daemon.Start(h.ctx(), daemon.Config{
		Containerd: h.tools.Containerd, Shim: h.tools.Shim, Runc: h.tools.Runc, Dir: dir, Log: h.logger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Stop(h.ctx())
	if daemon.Snapshotter() != "native" || !strings.Contains(h.log.String(), "overlayfs does not work in") {
		t.Errorf("snapshotter %s, log %q", daemon.Snapshotter(), h.log)
	}
	h.runtime.Close()
	usual := h.config
	h.config.Address, h.config.Snapshotter = daemon.Address(), daemon.Snapshotter()
	h.open()
	h.withBusybox()
	if exit, out := h.run(sh("echo copied")); exit.Code != 0 || out != "copied\n" {
		t.Errorf("exit %+v, output %q", exit, out)
	}
	h.removeAll()
	h.config = usual
	h.open()
}

// TestASnapshotWithoutARecordStopsNoLaterContainer puts directories where the next snapshots go, as a daemon leaves one
// that dies before it has committed the record.
func TestASnapshotWithoutARecordStopsNoLaterContainer(t *testing.T) {
	h := newHost(t).withBusybox()
	h.daemon.Close()
	h.runtime.Close()
	if err := h.daemon.Stop(h.ctx()); err != nil {
		t.Fatal(err)
	}
	homes, err := filepath.Glob(filepath.Join(filepath.Dir(h.daemon.Address()), "root", "*snapshotter*"+h.daemon.Snapshotter(), "snapshots"))
	if err != nil || len(homes) != 1 {
		t.Fatalf("snapshots are in %v, %v", homes, err)
	}
	for n := range 50 {
		if err := os.Mkdir(filepath.Join(homes[0], strconv.Itoa(n)), 0o700); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	h.startDaemon()
	h.open()
	if exit, out := h.run(sh("echo here")); exit.Code != 0 || out != "here\n" {
		t.Errorf("exit %+v, output %q", exit, out)
	}
}
