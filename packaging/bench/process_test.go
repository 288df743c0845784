package main

import (
	"net"
	"os"
	"testing"
	"time"
)

func TestAProcessShowsItsMemoryAndCPUTime(t *testing.T) {
	if bytes, err := residentBytes(os.Getpid()); err != nil || bytes < 1e6 || bytes > 1e10 {
		t.Errorf("this process has %v bytes (%v)", bytes, err)
	}
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after == before; { // until the clock has ticked
		if after, err = cpuTime(os.Getpid()); err != nil {
			t.Fatal(err)
		}
		if after > before+time.Minute {
			t.Errorf("%v of CPU time became %v", before, after)
		}
	}
}

func TestAProcessShowsHowOftenItWakesUp(t *testing.T) {
	before, err := wakeups(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	defer read.Close()
	for after := before; after <= before; { // until a thread has waited for another
		go write.Write([]byte{1})
		if _, err := read.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if after, err = wakeups(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := wakeups(1 << 30); err == nil {
		t.Error("a process that is not there wakes up")
	}
}

func TestWhatGoesOverAnInterfaceIsCounted(t *testing.T) {
	before, err := wireBytes(os.Getpid(), "lo")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const sent = 5000
	if _, err := listener.WriteTo(make([]byte, sent), listener.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	after, err := wireBytes(os.Getpid(), "lo")
	if err != nil || after < before+2*sent { // it leaves and arrives
		t.Errorf("%d bytes became %d when %d were sent (%v)", before, after, sent, err)
	}
	if _, err := wireBytes(os.Getpid(), "none0"); err == nil {
		t.Error("an interface that is not there was counted")
	}
}
