package main

import (
	"os"
	"syscall"
	"time"
)

const (
	// standbyVariable marks a standby in its environment.
	standbyVariable = "PINION_LOGGER_STANDBY"
	// standbyDelay is the age at which a logger gets a standby, so that short tasks pay for none.
	standbyDelay = time.Second
	// aliveFD is, in a standby, the end of a pipe that tells how the logger before it ended; the shim's pipe has it in the first logger.
	aliveFD = 5
)

// killedNote is the line of a log where a standby took over.
const killedNote = "pinion: the logger of this container was killed; what it had read and not yet written, at most 512 KiB, is missing here"

// keepStandby keeps a second process that has the container's streams open. Without a reader the container would block as soon as its
// pipes are full; the standby takes over when this process is killed. ended tells it that this process ends because the streams have.
func keepStandby() (ended func()) {
	var alive [2]int
	if syscall.Pipe2(alive[:], syscall.O_CLOEXEC) != nil {
		return func() {}
	}
	go func() {
		for {
			time.Sleep(standbyDelay)
			pid, _ := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
				Env: append(os.Environ(), standbyVariable+"=1"), Files: []uintptr{0, 1, 2, stdoutFD, stderrFD, uintptr(alive[0])},
			})
			for err := error(syscall.EINTR); err == syscall.EINTR && pid > 0; {
				_, err = syscall.Wait4(pid, nil, 0, nil)
			}
		}
	}()
	return func() { syscall.Write(alive[1], []byte{0}) }
}

// isStandby reports whether this process is a standby.
func isStandby() bool { return os.Getenv(standbyVariable) != "" }

// awaitDeath waits until the logger before this one has ended, and reports whether it was killed.
func awaitDeath() (killed bool) {
	var end [1]byte
	for {
		n, err := syscall.Read(aliveFD, end[:])
		if err == syscall.EINTR {
			continue
		}
		syscall.Close(aliveFD)
		return err == nil && n == 0
	}
}
