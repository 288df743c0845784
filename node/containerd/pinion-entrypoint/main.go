// Command pinion-entrypoint is the first process of containers that need one of Pinion's before their command.
//
//	pinion-entrypoint [-init] [-secrets FILE] -- COMMAND [ARG...]
//	pinion-entrypoint -pause
//
// With a file of secrets it adds their variables to the environment of the command, and further commands in the container begin with it too. So the values
// are in the container's memory and in a file in memory, and in nothing that the container runtime writes to a disk. The file has NAME=value, each with a
// NUL behind.
//
// As init it stays the first process: it hands signals on to the command, takes in the processes that have lost their parent, and ends as the command does.
// Otherwise it becomes the command.
//
// As pause container it holds the namespaces that the containers of a task share, and reaps processes, until it is killed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The exit codes of shells for a command that cannot be run, and for one that is not there.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

func main() {
	flags := flag.NewFlagSet("pinion-entrypoint", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	stays := flags.Bool("init", false, "stay the first process")
	secrets := flags.String("secrets", "", "add the variables of this file")
	holds := flags.Bool("pause", false, "hold the namespaces of a task")
	err := flags.Parse(os.Args[1:])
	if err == nil && *holds && flags.NArg() == 0 {
		pause()
	}
	if err != nil || flags.NArg() == 0 {
		end(exitCannotRun, "usage: pinion-entrypoint [-init] [-secrets FILE] -- COMMAND [ARG...]")
	}
	env := os.Environ()
	if *secrets != "" {
		variables, err := os.ReadFile(*secrets)
		if err != nil {
			end(exitCannotRun, "the secrets of this container cannot be read: "+err.Error())
		}
		env = merge(env, string(variables))
	}
	command := flags.Args()
	path, err := find(command[0], env)
	if err == nil && *stays {
		var code int
		if code, err = runInit(path, command, env); err == nil {
			os.Exit(code)
		}
	}
	if err == nil {
		err = unix.Exec(path, command, env)
	}
	code := exitCannotRun
	if errors.Is(err, unix.ENOENT) {
		code = exitNotFound
	}
	end(code, fmt.Sprintf("the command does not start: exec: %q: %v", command[0], err))
}

func end(code int, why string) {
	os.Stderr.WriteString("pinion: " + why + "\n")
	os.Exit(code)
}
