package network

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
)

// belongsToHost reports whether the network namespace belongs to the user namespace of the host.
func belongsToHost(t *testing.T, namespace string) bool {
	t.Helper()
	file, err := os.Open(namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	users, err := unix.IoctlRetInt(int(file.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(users)
	var theirs, host unix.Stat_t
	if err := errors.Join(unix.Fstat(users, &theirs), unix.Stat("/proc/self/ns/user", &host)); err != nil {
		t.Fatal(err)
	}
	return theirs.Ino == host.Ino
}

// An attachment made in advance belongs to the host, so a container with a user namespace gets one of its own.
func TestANetworkNamespaceBelongsToItsUserNamespace(t *testing.T) {
	b := open(t)
	b.prewarmed.ready = append(b.prewarmed.ready, spare(t, b))
	ids := runtime.IDRange{First: 1<<31 + 3*runtime.IDRangeSize}
	a, err := b.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: "task.main", IDs: ids})
	if err != nil {
		t.Fatal(err)
	}
	if belongsToHost(t, a.Namespace) {
		t.Error("that of a container with a user namespace belongs to the host")
	}
	if plain := attach(t, b, "task.plain"); !belongsToHost(t, plain.Namespace) {
		t.Error("that of a container without a user namespace does not belong to the host")
	}
	serve(t, a.Namespace, "main", 80)
	wantHello(t, a.Address+":80", "main")
	inNamespace(t, a.Namespace, func() error { _, err := fetch("127.0.0.1:80"); return err })
	again := reopen(t, b.dir)
	if after := attach(t, again, "task.main"); after.Namespace != a.Namespace || after.Address != a.Address {
		t.Errorf("before a restart %+v, after it %+v", a, after)
	}
	detach(t, again, "task.main")
	detach(t, again, "task.plain")
	wantAttached(t, again)
	if isNamespace(a.Namespace) {
		t.Error("its namespace is left")
	}
}

// spare is an attachment that is made in advance.
func spare(t *testing.T, b *Bridge) record {
	t.Helper()
	if err := b.ensure(); err != nil {
		t.Fatal(err)
	}
	r, err := b.createAttachment(t.Context(), prewarmPrefix+newSandbox(), runtime.IDRange{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
