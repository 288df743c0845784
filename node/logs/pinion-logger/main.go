// Command pinion-logger writes the output of one container to a file. The runtime's shim starts it for each container, with
// the container's stdout on descriptor 3 and stderr on 4, and starts the container after a byte on descriptor 5. It is a
// separate process, so output survives the end of Pinion and of containerd. It never stops draining: a full disk loses lines
// but does not block the container, and a standby takes over when the logger is killed.
//
//	pinion-logger -file PATH [-driver NAME] [-group NAME] [-multiline PATTERN] [-max-size BYTES] [-max-file COUNT] [-floor BYTES] [-owner ID]
package main

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"pinion/node/logs/record"
)

// drainTimeout bounds how long output is read after the shim reported the container's exit.
const drainTimeout = 500 * time.Millisecond

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Stderr.WriteString("pinion-logger: " + err.Error() + "\n")
		os.Exit(2)
	}
	standby := isStandby()
	if standby && !awaitDeath() {
		return
	}
	file := newFile(o.path, o.maxSize, o.maxFiles, o.floor, time.Now)
	file.writeNotice(".group", o.group)
	file.writeNotice(".multiline", o.records)
	if standby {
		file.writeLines("stderr", []byte(killedNote+"\n"), false)
	} else if err := giveStreams(o.owner); err != nil {
		file.writeLines("stderr", []byte("pinion: the container cannot open its own output anew: "+err.Error()+"\n"), false)
	}
	streams := map[string]*os.File{"stdout": inherited(stdoutFD), "stderr": inherited(stderrFD)}
	endOnSignal(streams)

	var draining sync.WaitGroup
	for name, stream := range streams {
		draining.Go(func() { drain(stream, name, file) })
	}
	if !standby {
		signalReady()
	}
	ended := keepStandby()
	draining.Wait()
	file.close()
	ended()
}

// The container's streams.
const stdoutFD, stderrFD = 3, 4

// inherited opens an inherited descriptor as a file that supports deadlines.
func inherited(fd int) *os.File {
	syscall.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "")
}

// giveStreams makes the streams root's of a container with a user namespace. The shim has made them, and gives them to nobody; runc
// goes on from there to the user of the container's process.
func giveStreams(owner int) error {
	if owner == 0 {
		return nil
	}
	return errors.Join(syscall.Fchown(stdoutFD, owner, owner), syscall.Fchown(stderrFD, owner, owner))
}

// signalReady tells the shim that the container may start: it writes one byte and closes the pipe.
func signalReady() {
	wait := os.NewFile(5, "")
	wait.Write([]byte{0})
	wait.Close()
}

// endOnSignal ends the streams soon after SIGTERM, even if a process still holds them open. Other signals of a terminal or
// a session are ignored.
func endOnSignal(streams map[string]*os.File) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		<-asked
		for _, stream := range streams {
			stream.SetReadDeadline(time.Now().Add(drainTimeout))
		}
	}()
}

// drain cuts a stream into lines until it ends. The data of each read is written at once.
func drain(stream *os.File, name string, file *logFile) {
	pending := make([]byte, 0, 32<<10) // the beginning of an incomplete line
	for {
		if len(pending) == cap(pending) {
			grown := make([]byte, len(pending), min(2*cap(pending), 2*record.MaxText))
			copy(grown, pending)
			pending = grown
		}
		n, err := stream.Read(pending[len(pending):cap(pending)])
		pending = pending[:len(pending)+n]
		whole := file.writeLines(name, pending, err != nil)
		pending = pending[:copy(pending, pending[whole:])]
		if err != nil {
			return
		}
	}
}
