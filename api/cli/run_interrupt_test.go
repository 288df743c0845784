package cli

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

func TestTheFirstCtrlCStopsTheTaskAndTheLogGoesOnToItsEnd(t *testing.T) {
	h := newRunHost(t, pending, running, exitedTask(143))
	signals, stopped := make(chan os.Signal, 2), make(chan struct{})
	h.operations["StopTask"] = func(map[string]any) any { close(stopped); return "{}" }
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1"] = func(w http.ResponseWriter) any {
		signals <- syscall.SIGINT
		<-stopped
		logLines(w, "saved a checkpoint")
		return nil
	}
	got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "run", "nvidia/cuda")
	checkEqual(t, "stdout", got.out, "saved a checkpoint\n")
	if got.code != 143 || !strings.Contains(got.err, "stopping task 3f2a00000000 ... (Ctrl-C again detaches)\n") {
		t.Errorf("%+v", got)
	}
}

// A dropped connection to the machine at which somebody works must not end days of training.
func TestATaskRunsOnWhenTheTerminalGoesAway(t *testing.T) {
	h := newRunHost(t, pending, running)
	signals, gone := make(chan os.Signal, 1), make(chan struct{})
	defer close(gone)
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1"] = func(w http.ResponseWriter) any {
		w.(http.Flusher).Flush()
		signals <- syscall.SIGHUP
		<-gone
		return nil
	}
	got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "run", "nvidia/cuda")
	if got.code != exit.HungUp || h.callCount("StopTask") != 0 || !strings.Contains(got.err, "pinion logs -f 3f2a00000000") {
		t.Errorf("StopTask %d times, %+v", h.callCount("StopTask"), got)
	}
}

func TestTheSecondCtrlCLeavesAtOnce(t *testing.T) {
	h := newRunHost(t, pending, running)
	signals, gone := make(chan os.Signal, 2), make(chan struct{})
	defer close(gone)
	h.operations["StopTask"] = func(map[string]any) any { signals <- syscall.SIGINT; return "{}" }
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1"] = func(w http.ResponseWriter) any {
		w.(http.Flusher).Flush()
		signals <- syscall.SIGINT
		<-gone
		return nil
	}
	got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "run", "nvidia/cuda")
	if got.code != 130 || !strings.HasSuffix(got.err, "pinion: detached: task 3f2a00000000 is still stopping. `pinion ps` shows when it has stopped\n") {
		t.Errorf("%+v", got)
	}
}

// timeout(1) sends SIGTERM to the process and then to its group: that is one wish to stop.
func TestSIGTERMTwiceAtOnceIsOne(t *testing.T) {
	h := newRunHost(t, pending, running, exitedTask(143))
	signals, stopped := make(chan os.Signal, 3), make(chan struct{})
	h.operations["StopTask"] = func(map[string]any) any { close(stopped); return "{}" }
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1"] = func(w http.ResponseWriter) any {
		signals <- syscall.SIGTERM
		signals <- syscall.SIGTERM
		<-stopped
		logLines(w, "saved a checkpoint")
		return nil
	}
	got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "run", "nvidia/cuda")
	if got.code != 143 || got.out != "saved a checkpoint\n" || strings.Contains(got.err, "detached") {
		t.Errorf("%+v", got)
	}
}

func TestCtrlCBeforeTheAnswerLeavesAndSaysThatTheOutcomeIsOpen(t *testing.T) {
	h := newRunHost(t, pending)
	signals, gone := make(chan os.Signal, 1), make(chan struct{})
	defer close(gone)
	h.operations["RunTask"] = func(map[string]any) any { signals <- syscall.SIGINT; <-gone; return "{}" }
	got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "run", "nvidia/cuda")
	if got.code != 130 || !strings.Contains(got.err, "`pinion ps` shows whether the task was started") {
		t.Errorf("%+v", got)
	}
}
