package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalled is added to the number of the signal that has ended a command, as shells do.
const signalled = 128

// ownSignals are not handed on: those of this process's own runtime, of its children, and of a terminal that it does not use.
var ownSignals = []syscall.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE, unix.SIGKILL, unix.SIGSTOP}

// lastSignal is the last of the real-time signals; 32 and 33 are the C library's.
const lastSignal = 64

// handedOn are the signals that the command gets.
func handedOn() (all []os.Signal) {
	for number := syscall.Signal(1); number <= lastSignal; number++ {
		if !slices.Contains(ownSignals, number) && number != 32 && number != 33 {
			all = append(all, number)
		}
	}
	return all
}

// runInit runs the command, hands signals on to it, and reaps every process that ends, until the command has ended. It returns its exit code. The error
// says that it did not start.
func runInit(path string, command, env []string) (code int, err error) {
	signals, children := make(chan os.Signal, 64), make(chan os.Signal, 1) // however many children end, one signal is enough
	signal.Notify(signals, handedOn()...)                                  // before the command is there: none is lost
	signal.Notify(children, unix.SIGCHLD)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // for a container in the process ids of the host
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if _, err := unix.IoctlGetTermios(unix.Stdin, unix.TCGETS); err == nil {
		attributes.Foreground, attributes.Ctty = true, unix.Stdin // its keys are for the command
	}
	child, err := syscall.ForkExec(path, command, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: attributes})
	if err != nil {
		return 0, err
	}
	for {
		select {
		case got := <-signals:
			if number, is := got.(syscall.Signal); is {
				_ = unix.Kill(child, number) // it may have ended just now
			}
		case <-children:
			if status, ended := reap(child); ended {
				return exitCode(status), nil
			}
		}
	}
}

// reap takes in all processes that have ended, and reports whether the command is one of them, with its status.
func reap(child int) (status unix.WaitStatus, ended bool) {
	for {
		var its unix.WaitStatus
		pid, err := unix.Wait4(-1, &its, unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil || pid <= 0:
			return status, ended
		case pid == child:
			status, ended = its, true
		}
	}
}

func exitCode(status unix.WaitStatus) int {
	if status.Signaled() {
		return signalled + int(status.Signal())
	}
	return status.ExitStatus()
}

// pause reaps every process that ends, for ever. Signals from the containers of the task do not end it: only SIGKILL from outside does.
func pause() {
	children := make(chan os.Signal, 1)
	signal.Ignore(handedOn()...)
	signal.Notify(children, unix.SIGCHLD)
	for {
		reap(0)
		<-children
	}
}
