// Command pinion-entrypoint runs a command with the variables of a file, in its own place: the first process of a container that has secrets in its
// environment, and every further command there. So the values are in the container's memory and in a file in memory, and in nothing that the container
// runtime writes to a disk.
//
//	pinion-entrypoint FILE COMMAND [ARG...]
//
// The file has NAME=value, each with a NUL behind.
package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The exit codes of shells for a command that cannot be run, and for one that is not there.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

func main() {
	if len(os.Args) < 3 {
		end(exitCannotRun, "usage: pinion-entrypoint FILE COMMAND [ARG...]")
	}
	variables, err := os.ReadFile(os.Args[1])
	if err != nil {
		end(exitCannotRun, "the secrets of this container cannot be read: "+err.Error())
	}
	env := merge(os.Environ(), string(variables))
	command := os.Args[2:]
	path, err := find(command[0], env)
	if err == nil {
		err = unix.Exec(path, command, env)
	}
	code := exitCannotRun
	if errors.Is(err, unix.ENOENT) {
		code = exitNotFound
	}
	end(code, "the command does not start: exec: "+`"`+command[0]+`": `+err.Error())
}

func end(code int, why string) {
	os.Stderr.WriteString("pinion: " + why + "\n")
	os.Exit(code)
}

// merge lays the variables of the file over an environment.
func merge(env []string, variables string) []string {
	for entry := range strings.SplitSeq(strings.TrimSuffix(variables, "\x00"), "\x00") {
		name, _, is := strings.Cut(entry, "=")
		if !is {
			continue
		}
		kept := env[:0:0]
		for _, known := range env {
			if !strings.HasPrefix(known, name+"=") {
				kept = append(kept, known)
			}
		}
		env = append(kept, entry)
	}
	return env
}

// find is the path of a command: as it is when it has a slash, otherwise in the directories of PATH. ENOENT when it is nowhere.
func find(command string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil
	}
	wrong := error(unix.ENOENT)
	for _, entry := range env {
		path, is := strings.CutPrefix(entry, "PATH=")
		if !is {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			candidate := filepath.Join(dir, command)
			if !strings.Contains(candidate, "/") {
				candidate = "./" + candidate
			}
			info, err := os.Stat(candidate)
			if err != nil || info.IsDir() {
				continue
			}
			if err := unix.Access(candidate, unix.X_OK); err == nil {
				return candidate, nil
			}
			wrong = unix.EACCES
		}
	}
	return "", wrong
}
